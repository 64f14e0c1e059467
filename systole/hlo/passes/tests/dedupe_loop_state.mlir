// RUN: systole hlo opt --pretty --passes dedupe_loop_state,dce %s | FileCheck %s

// The loop carries two values that begin equal and are set equal.
// CHECK-LABEL: @equal
// CHECK-NEXT: %[[LOOP:.*]]:2 = stablehlo.while
// CHECK: stablehlo.add %[[A:.*]], %[[A]] :
// CHECK: return %[[LOOP]]#1, %[[LOOP]]#1
func.func public @equal(%n: tensor<i32>, %x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %0:3 = stablehlo.while(%i = %n, %a = %x, %b = %x) : tensor<i32>, tensor<3xf32>, tensor<3xf32>
    cond {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %more = stablehlo.compare GT, %i, %zero, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.subtract %i, %one : tensor<i32>
      %sum = stablehlo.add %a, %b : tensor<3xf32>
      stablehlo.return %next, %sum, %sum : tensor<i32>, tensor<3xf32>, tensor<3xf32>
    }
  return %0#1, %0#2 : tensor<3xf32>, tensor<3xf32>
}

// CHECK-LABEL: @other_start
// CHECK-NEXT: %[[LOOP:.*]]:3 = stablehlo.while
// CHECK: return %[[LOOP]]#1, %[[LOOP]]#2
func.func public @other_start(%n: tensor<i32>, %x: tensor<3xf32>, %y: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %0:3 = stablehlo.while(%i = %n, %a = %x, %b = %y) : tensor<i32>, tensor<3xf32>, tensor<3xf32>
    cond {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %more = stablehlo.compare GT, %i, %zero, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.subtract %i, %one : tensor<i32>
      %sum = stablehlo.add %a, %b : tensor<3xf32>
      stablehlo.return %next, %sum, %sum : tensor<i32>, tensor<3xf32>, tensor<3xf32>
    }
  return %0#1, %0#2 : tensor<3xf32>, tensor<3xf32>
}
