// RUN: systole hlo opt --pretty --passes algebraic_simplifier,dce %s | FileCheck %s

// CHECK-LABEL: @add_zero
// CHECK-NEXT: return %arg0
func.func public @add_zero(%x: tensor<3xi32>) -> tensor<3xi32> {
  %0 = stablehlo.constant dense<0> : tensor<3xi32>
  %1 = stablehlo.add %x, %0 : tensor<3xi32>
  return %1 : tensor<3xi32>
}

// -0 + 0 is 0, so the sum of floats stays.
// CHECK-LABEL: @add_float_zero
// CHECK: stablehlo.add
func.func public @add_float_zero(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.constant dense<0.0> : tensor<3xf32>
  %1 = stablehlo.add %x, %0 : tensor<3xf32>
  return %1 : tensor<3xf32>
}

// CHECK-LABEL: @transposes
// CHECK-NEXT: return %arg0
func.func public @transposes(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<3x2xf32>) -> tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}

// CHECK-LABEL: @reshapes
// CHECK-NEXT: %[[R:.*]] = stablehlo.reshape %arg0 : (tensor<2x6xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: return %[[R]]
func.func public @reshapes(%x: tensor<2x6xf32>) -> tensor<4x3xf32> {
  %0 = stablehlo.reshape %x : (tensor<2x6xf32>) -> tensor<12xf32>
  %1 = stablehlo.reshape %0 : (tensor<12xf32>) -> tensor<4x3xf32>
  return %1 : tensor<4x3xf32>
}

// Division by a power of two has an exact reciprocal; by three it has none.
// CHECK-LABEL: @divide
// CHECK-DAG: %[[THREE:.*]] = stablehlo.constant dense<3.0>
// CHECK-DAG: %[[QUARTER:.*]] = stablehlo.constant dense<0.25>
// CHECK-DAG: stablehlo.multiply %arg0, %[[QUARTER]]
// CHECK-DAG: stablehlo.divide %arg0, %[[THREE]]
func.func public @divide(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %four = stablehlo.constant dense<4.0> : tensor<f32>
  %three = stablehlo.constant dense<3.0> : tensor<f32>
  %0 = stablehlo.divide %x, %four : tensor<f32>
  %1 = stablehlo.divide %x, %three : tensor<f32>
  return %0, %1 : tensor<f32>, tensor<f32>
}
