// RUN: systole hlo opt --pretty --passes dce %s | FileCheck %s

// Values of quantized types become integers before the first pass. Real numbers appear where a scale changes.
// CHECK-LABEL: @product
// CHECK-SAME: (%arg0: tensor<2x3xi8>, %arg1: tensor<3x4xi8>) -> tensor<2x4xi32>
// CHECK-NEXT: stablehlo.dot_general %arg0, %arg1
// CHECK-NEXT: return
func.func public @product(%x: tensor<2x3x!quant.uniform<i8:f32, 0.5>>, %w: tensor<3x4x!quant.uniform<i8:f32, 0.25>>) -> tensor<2x4x!quant.uniform<i32:f32, 0.125>> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2x3x!quant.uniform<i8:f32, 0.5>>, tensor<3x4x!quant.uniform<i8:f32, 0.25>>) -> tensor<2x4x!quant.uniform<i32:f32, 0.125>>
  return %0 : tensor<2x4x!quant.uniform<i32:f32, 0.125>>
}

// CHECK-LABEL: @rescale
// CHECK-SAME: (%arg0: tensor<4xi16>) -> tensor<4xi8>
// CHECK-NOT: quant
// CHECK: stablehlo.multiply %{{.*}} : tensor<4xf32>
// CHECK: stablehlo.round_nearest_even
// CHECK: return %{{.*}} : tensor<4xi8>
func.func public @rescale(%x: tensor<4x!quant.uniform<i16:f32, 0.3>>) -> tensor<4x!quant.uniform<i8:f32, 0.7>> {
  %0 = stablehlo.uniform_quantize %x : (tensor<4x!quant.uniform<i16:f32, 0.3>>) -> tensor<4x!quant.uniform<i8:f32, 0.7>>
  return %0 : tensor<4x!quant.uniform<i8:f32, 0.7>>
}
