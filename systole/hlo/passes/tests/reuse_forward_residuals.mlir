// RUN: systole hlo opt --pretty --passes reuse_forward_residuals,dce %s | FileCheck %s

// The second loop goes back over the states of the first and computes the product again.
// CHECK-LABEL: @main
// The first loop stacks the sum that contains the product, in place of the state.
// CHECK: %[[FIRST:.*]]:3 = stablehlo.while
// CHECK: %[[PRODUCT:.*]] = stablehlo.dot_general %{{.*}}, %arg1
// CHECK: %[[SUM:.*]] = stablehlo.add %{{.*}}, %[[PRODUCT]]
// CHECK: %[[ROW:.*]] = stablehlo.reshape %[[SUM]]
// CHECK: stablehlo.dynamic_update_slice %{{.*}}, %[[ROW]],
// The second reads it.
// CHECK: stablehlo.while
// CHECK-NOT: stablehlo.dot_general
// CHECK: stablehlo.dynamic_slice %[[FIRST]]#2,
// CHECK-NOT: stablehlo.dot_general
// CHECK: return
func.func @main(%x: tensor<4x3x5xi32>, %u: tensor<2x5xi32>, %w: tensor<5x2xi32>) -> tensor<3x5xi32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %four = stablehlo.constant dense<4> : tensor<i32>
  %h0 = stablehlo.constant dense<1> : tensor<3x2xi32>
  %stack0 = stablehlo.constant dense<0> : tensor<4x3x2xi32>
  %f:3 = stablehlo.while(%i = %zero, %h = %h0, %stack = %stack0) : tensor<i32>, tensor<3x2xi32>, tensor<4x3x2xi32>
    cond {
      %more = stablehlo.compare LT, %i, %four, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %row = stablehlo.reshape %h : (tensor<3x2xi32>) -> tensor<1x3x2xi32>
      %stacked = stablehlo.dynamic_update_slice %stack, %row, %i, %zero, %zero : (tensor<4x3x2xi32>, tensor<1x3x2xi32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x3x2xi32>
      %xs = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1, 3, 5] : (tensor<4x3x5xi32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x3x5xi32>
      %xt = stablehlo.reshape %xs : (tensor<1x3x5xi32>) -> tensor<3x5xi32>
      %p = stablehlo.dot_general %h, %u, contracting_dims = [1] x [0] : (tensor<3x2xi32>, tensor<2x5xi32>) -> tensor<3x5xi32>
      %z = stablehlo.add %xt, %p : tensor<3x5xi32>
      %n = stablehlo.dot_general %z, %w, contracting_dims = [1] x [0] : (tensor<3x5xi32>, tensor<5x2xi32>) -> tensor<3x2xi32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %n, %stacked : tensor<i32>, tensor<3x2xi32>, tensor<4x3x2xi32>
    }
  %sum0 = stablehlo.constant dense<0> : tensor<3x5xi32>
  %g:2 = stablehlo.while(%k = %three, %sum = %sum0) : tensor<i32>, tensor<3x5xi32>
    cond {
      %more = stablehlo.compare GE, %k, %zero, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %row = stablehlo.dynamic_slice %f#2, %k, %zero, %zero, sizes = [1, 3, 2] : (tensor<4x3x2xi32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x3x2xi32>
      %h = stablehlo.reshape %row : (tensor<1x3x2xi32>) -> tensor<3x2xi32>
      %xs = stablehlo.dynamic_slice %x, %k, %zero, %zero, sizes = [1, 3, 5] : (tensor<4x3x5xi32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x3x5xi32>
      %xt = stablehlo.reshape %xs : (tensor<1x3x5xi32>) -> tensor<3x5xi32>
      %p = stablehlo.dot_general %h, %u, contracting_dims = [1] x [0] : (tensor<3x2xi32>, tensor<2x5xi32>) -> tensor<3x5xi32>
      %z = stablehlo.add %xt, %p : tensor<3x5xi32>
      %next = stablehlo.xor %sum, %z : tensor<3x5xi32>
      %j = stablehlo.subtract %k, %one : tensor<i32>
      stablehlo.return %j, %next : tensor<i32>, tensor<3x5xi32>
    }
  return %g#1 : tensor<3x5xi32>
}
