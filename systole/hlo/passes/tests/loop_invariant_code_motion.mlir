// RUN: systole hlo opt --pretty --passes loop_invariant_code_motion %s | FileCheck %s

// CHECK-LABEL: @invariant
// CHECK-NEXT: %[[E:.*]] = stablehlo.exponential %arg2
// CHECK-NEXT: stablehlo.while
// CHECK-NOT: stablehlo.exponential
// CHECK: stablehlo.add %{{.*}}, %[[E]]
func.func public @invariant(%n: tensor<i32>, %x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<3xf32> {
  %0:2 = stablehlo.while(%i = %n, %sum = %x) : tensor<i32>, tensor<3xf32>
    cond {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %more = stablehlo.compare GT, %i, %zero, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.subtract %i, %one : tensor<i32>
      %e = stablehlo.exponential %y : tensor<3xf32>
      %a = stablehlo.add %sum, %e : tensor<3xf32>
      stablehlo.return %next, %a : tensor<i32>, tensor<3xf32>
    }
  return %0#1 : tensor<3xf32>
}

// CHECK-LABEL: @variant
// CHECK-NEXT: stablehlo.while
// CHECK: do {
// CHECK: stablehlo.exponential
func.func public @variant(%n: tensor<i32>, %x: tensor<3xf32>) -> tensor<3xf32> {
  %0:2 = stablehlo.while(%i = %n, %sum = %x) : tensor<i32>, tensor<3xf32>
    cond {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %more = stablehlo.compare GT, %i, %zero, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.subtract %i, %one : tensor<i32>
      %e = stablehlo.exponential %sum : tensor<3xf32>
      stablehlo.return %next, %e : tensor<i32>, tensor<3xf32>
    }
  return %0#1 : tensor<3xf32>
}
