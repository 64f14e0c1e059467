// RUN: systole hlo opt --pretty --passes dce %s | FileCheck %s

// CHECK-LABEL: @unused
// CHECK-NEXT: return %arg0
func.func public @unused(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.exponential %x : tensor<3xf32>
  %1 = stablehlo.negate %0 : tensor<3xf32>
  return %x : tensor<3xf32>
}

// CHECK-LABEL: @carried
// CHECK: stablehlo.while({{.*}}) : tensor<i32>, tensor<3xf32>{{$}}
// CHECK-NOT: stablehlo.exponential
// CHECK: stablehlo.return %{{.*}}, %{{.*}} : tensor<i32>, tensor<3xf32>{{$}}
func.func public @carried(%n: tensor<i32>, %x: tensor<3xf32>) -> tensor<3xf32> {
  %0:3 = stablehlo.while(%i = %n, %used = %x, %unused = %x) : tensor<i32>, tensor<3xf32>, tensor<3xf32>
    cond {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %more = stablehlo.compare GT, %i, %zero, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.subtract %i, %one : tensor<i32>
      %a = stablehlo.negate %used : tensor<3xf32>
      %b = stablehlo.exponential %unused : tensor<3xf32>
      stablehlo.return %next, %a, %b : tensor<i32>, tensor<3xf32>, tensor<3xf32>
    }
  return %0#1 : tensor<3xf32>
}

// Calls with side effects stay.
// CHECK-LABEL: @side_effect
// CHECK-NEXT: stablehlo.custom_call @print
// CHECK-NEXT: return
func.func public @side_effect(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.custom_call @print(%x) {has_side_effect = true} : (tensor<3xf32>) -> tensor<3xf32>
  %1 = stablehlo.custom_call @pure(%x) : (tensor<3xf32>) -> tensor<3xf32>
  return %x : tensor<3xf32>
}
