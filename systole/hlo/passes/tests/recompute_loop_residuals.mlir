// RUN: systole hlo opt --pretty --passes recompute_loop_residuals,dce %s | FileCheck %s

// The second loop goes back over the states of the first, and over their derivatives.
// CHECK-LABEL: @main
// The first stacks the states alone.
// CHECK: %[[FIRST:.*]]:3 = stablehlo.while
// CHECK: stablehlo.logistic
// CHECK: stablehlo.dynamic_update_slice
// CHECK-NOT: stablehlo.dynamic_update_slice
// The second computes the derivatives.
// CHECK: stablehlo.while
// CHECK: stablehlo.dynamic_slice %[[FIRST]]#2,
// CHECK: %[[REST:.*]] = stablehlo.subtract
// CHECK: stablehlo.multiply %{{.*}}, %[[REST]]
// CHECK: return
func.func @main(%x: tensor<4x3x2xf32>) -> tensor<3x2xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %four = stablehlo.constant dense<4> : tensor<i32>
  %h0 = stablehlo.constant dense<0.5> : tensor<3x2xf32>
  %stack0 = stablehlo.constant dense<0.0> : tensor<4x3x2xf32>
  %f:4 = stablehlo.while(%i = %zero, %h = %h0, %ss = %stack0, %ds = %stack0) : tensor<i32>, tensor<3x2xf32>, tensor<4x3x2xf32>, tensor<4x3x2xf32>
    cond {
      %more = stablehlo.compare LT, %i, %four, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %xs = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1, 3, 2] : (tensor<4x3x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x3x2xf32>
      %xt = stablehlo.reshape %xs : (tensor<1x3x2xf32>) -> tensor<3x2xf32>
      %z = stablehlo.add %xt, %h : tensor<3x2xf32>
      %s = stablehlo.logistic %z : tensor<3x2xf32>
      %unit = stablehlo.constant dense<1.0> : tensor<f32>
      %ones = stablehlo.broadcast_in_dim %unit, dims = [] : (tensor<f32>) -> tensor<3x2xf32>
      %c = stablehlo.subtract %ones, %s : tensor<3x2xf32>
      %d = stablehlo.multiply %s, %c : tensor<3x2xf32>
      %srow = stablehlo.reshape %s : (tensor<3x2xf32>) -> tensor<1x3x2xf32>
      %sn = stablehlo.dynamic_update_slice %ss, %srow, %i, %zero, %zero : (tensor<4x3x2xf32>, tensor<1x3x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x3x2xf32>
      %drow = stablehlo.reshape %d : (tensor<3x2xf32>) -> tensor<1x3x2xf32>
      %dn = stablehlo.dynamic_update_slice %ds, %drow, %i, %zero, %zero : (tensor<4x3x2xf32>, tensor<1x3x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x3x2xf32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %s, %sn, %dn : tensor<i32>, tensor<3x2xf32>, tensor<4x3x2xf32>, tensor<4x3x2xf32>
    }
  %g:2 = stablehlo.while(%k = %zero, %sum = %h0) : tensor<i32>, tensor<3x2xf32>
    cond {
      %more = stablehlo.compare LT, %k, %four, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %l = stablehlo.subtract %three, %k : tensor<i32>
      %drow = stablehlo.dynamic_slice %f#3, %l, %zero, %zero, sizes = [1, 3, 2] : (tensor<4x3x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x3x2xf32>
      %d = stablehlo.reshape %drow : (tensor<1x3x2xf32>) -> tensor<3x2xf32>
      %srow = stablehlo.dynamic_slice %f#2, %l, %zero, %zero, sizes = [1, 3, 2] : (tensor<4x3x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x3x2xf32>
      %s = stablehlo.reshape %srow : (tensor<1x3x2xf32>) -> tensor<3x2xf32>
      %p = stablehlo.multiply %sum, %d : tensor<3x2xf32>
      %next = stablehlo.add %p, %s : tensor<3x2xf32>
      %j = stablehlo.add %k, %one : tensor<i32>
      stablehlo.return %j, %next : tensor<i32>, tensor<3x2xf32>
    }
  return %g#1 : tensor<3x2xf32>
}
