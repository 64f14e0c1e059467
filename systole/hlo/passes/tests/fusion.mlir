// RUN: systole hlo opt --pretty --passes fusion %s | FileCheck %s

// CHECK-LABEL: @elementwise
// CHECK-NEXT: "systole.fusion"(%arg1, %arg0)
// CHECK: stablehlo.broadcast_in_dim
// CHECK-NEXT: stablehlo.add
// CHECK-NEXT: stablehlo.tanh
// CHECK-NEXT: stablehlo.return
func.func public @elementwise(%x: tensor<8x16xf32>, %b: tensor<16xf32>) -> tensor<8x16xf32> {
  %0 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<16xf32>) -> tensor<8x16xf32>
  %1 = stablehlo.add %x, %0 : tensor<8x16xf32>
  %2 = stablehlo.tanh %1 : tensor<8x16xf32>
  return %2 : tensor<8x16xf32>
}

// A reduction ends the loop of its producers.
// CHECK-LABEL: @reduction
// CHECK: "systole.fusion"(%arg0)
// CHECK: stablehlo.multiply
// CHECK: stablehlo.reduce
// CHECK: stablehlo.return
func.func public @reduction(%x: tensor<8x16xf32>) -> tensor<8xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.multiply %x, %x : tensor<8x16xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x16xf32>, tensor<f32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// A matrix product is no part of a loop.
// CHECK-LABEL: @product
// CHECK-NOT: systole.fusion
// CHECK: return
func.func public @product(%x: tensor<8x16xf32>, %w: tensor<16x4xf32>) -> tensor<8x4xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  %1 = stablehlo.negate %0 : tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}
