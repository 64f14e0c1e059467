// Quantized types: integers that stand for real numbers.

// A scale for each element; ties go to even.
func.func @main() {
  %x = stablehlo.constant dense<[1.0, -3.0, 2.5, 1000.0]> : tensor<4xf32>
  %q = stablehlo.uniform_quantize %x : (tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f32:0, {0.5:-3,0.25:10,1.0,0.5}>>
  %i = stablehlo.bitcast_convert %q : (tensor<4x!quant.uniform<i8:f32:0, {0.5:-3,0.25:10,1.0,0.5}>>) -> tensor<4xi8>
  check.expect_eq_const %i, dense<[-1, -2, 2, 127]> : tensor<4xi8>
  %r = stablehlo.uniform_dequantize %q : (tensor<4x!quant.uniform<i8:f32:0, {0.5:-3,0.25:10,1.0,0.5}>>) -> tensor<4xf32>
  check.expect_eq_const %r, dense<[1.0, -3.0, 2.0, 63.5]> : tensor<4xf32>
  %same = stablehlo.uniform_quantize %q : tensor<4x!quant.uniform<i8:f32:0, {0.5:-3,0.25:10,1.0,0.5}>>
  %j = stablehlo.bitcast_convert %same : (tensor<4x!quant.uniform<i8:f32:0, {0.5:-3,0.25:10,1.0,0.5}>>) -> tensor<4xi8>
  check.expect_eq_const %j, dense<[-1, -2, 2, 127]> : tensor<4xi8>
  return
}

// -----

// A layer: exact sums, a bias, one rounding. The scales of the columns are 0.5 and 0.25.
func.func @main() {
  %a = stablehlo.constant dense<[[4, 2], [3, -128]]> : tensor<2x2xi8>
  %x = stablehlo.bitcast_convert %a : (tensor<2x2xi8>) -> tensor<2x2x!quant.uniform<i8:f32, 0.5:3>>
  %w = stablehlo.constant() {value = dense<[[1, -127], [2, 9]]> : tensor<2x2xi8>} : () -> tensor<2x2x!quant.uniform<i8<-127:127>:f32:1, {0.5,0.25}>>
  %b = stablehlo.constant() {value = dense<[1, 2]> : tensor<2xi32>} : () -> tensor<2x!quant.uniform<i32:f32:0, {0.25,0.125}>>
  %c = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<2x!quant.uniform<i32:f32:0, {0.25,0.125}>>) -> tensor<2x2x!quant.uniform<i32:f32:1, {0.25,0.125}>>
  %s = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2x2x!quant.uniform<i8:f32, 0.5:3>>, tensor<2x2x!quant.uniform<i8<-127:127>:f32:1, {0.5,0.25}>>) -> tensor<2x2x!quant.uniform<i32:f32:1, {0.25,0.125}>>
  %t = stablehlo.add %s, %c : tensor<2x2x!quant.uniform<i32:f32:1, {0.25,0.125}>>
  %i = stablehlo.bitcast_convert %t : (tensor<2x2x!quant.uniform<i32:f32:1, {0.25,0.125}>>) -> tensor<2x2xi32>
  check.expect_eq_const %i, dense<[[0, -134], [-261, -1177]]> : tensor<2x2xi32>
  %q = stablehlo.uniform_quantize %t : (tensor<2x2x!quant.uniform<i32:f32:1, {0.25,0.125}>>) -> tensor<2x2x!quant.uniform<i8:f32, 0.5:-1>>
  %r = stablehlo.bitcast_convert %q : (tensor<2x2x!quant.uniform<i8:f32, 0.5:-1>>) -> tensor<2x2xi8>
  check.expect_eq_const %r, dense<[[-1, -34], [-128, -128]]> : tensor<2x2xi8>
  return
}

// -----

// The padding of a convolution stands for 0, which is the integer 2.
func.func @main() {
  %a = stablehlo.constant dense<[[[[5], [-7], [2]], [[0], [3], [120]], [[-128], [9], [4]]]]> : tensor<1x3x3x1xi8>
  %x = stablehlo.bitcast_convert %a : (tensor<1x3x3x1xi8>) -> tensor<1x3x3x1x!quant.uniform<i8:f32, 0.5:2>>
  %w = stablehlo.constant() {value = dense<[[[[1]], [[-2]]], [[[3]], [[4]]]]> : tensor<2x2x1x1xi8>} : () -> tensor<2x2x1x1x!quant.uniform<i8:f32, 0.25>>
  %s = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x3x1x!quant.uniform<i8:f32, 0.5:2>>, tensor<2x2x1x1x!quant.uniform<i8:f32, 0.25>>) -> tensor<1x4x4x1x!quant.uniform<i32:f32, 0.125>>
  %i = stablehlo.bitcast_convert %s : (tensor<1x4x4x1x!quant.uniform<i32:f32, 0.125>>) -> tensor<1x4x4x1xi32>
  %j = stablehlo.reshape %i : (tensor<1x4x4x1xi32>) -> tensor<4x4xi32>
  check.expect_eq_const %j, dense<[[12, -27, -27, 0], [-14, 19, 466, 354], [-516, -366, -206, 124], [260, -144, 3, 2]]> : tensor<4x4xi32>
  %q = stablehlo.uniform_quantize %s : (tensor<1x4x4x1x!quant.uniform<i32:f32, 0.125>>) -> tensor<1x4x4x1x!quant.uniform<i8:f32, 1.0:-1>>
  %p = stablehlo.reshape %q : (tensor<1x4x4x1x!quant.uniform<i8:f32, 1.0:-1>>) -> tensor<4x4x!quant.uniform<i8:f32, 1.0:-1>>
  %r = stablehlo.bitcast_convert %p : (tensor<4x4x!quant.uniform<i8:f32, 1.0:-1>>) -> tensor<4x4xi8>
  check.expect_eq_const %r, dense<[[0, -4, -4, -1], [-3, 1, 57, 43], [-66, -47, -27, 14], [32, -19, -1, -1]]> : tensor<4x4xi8>
  return
}

// -----

// Ops on real numbers: 4.5 - 1.25, then the greater one of each pair.
func.func @main() {
  %a = stablehlo.constant dense<[9, 4, -6, 127]> : tensor<4xi8>
  %b = stablehlo.constant dense<[-5, 3, 1, 127]> : tensor<4xi8>
  %x = stablehlo.bitcast_convert %a : (tensor<4xi8>) -> tensor<4x!quant.uniform<i8:f32, 0.5>>
  %y = stablehlo.bitcast_convert %b : (tensor<4xi8>) -> tensor<4x!quant.uniform<i8:f32, 0.25>>
  %s = stablehlo.add %x, %y : (tensor<4x!quant.uniform<i8:f32, 0.5>>, tensor<4x!quant.uniform<i8:f32, 0.25>>) -> tensor<4x!quant.uniform<i8:f32, 0.25:1>>
  %t = stablehlo.maximum %s, %y : (tensor<4x!quant.uniform<i8:f32, 0.25:1>>, tensor<4x!quant.uniform<i8:f32, 0.25>>) -> tensor<4x!quant.uniform<i8:f32, 0.25>>
  %i = stablehlo.bitcast_convert %s : (tensor<4x!quant.uniform<i8:f32, 0.25:1>>) -> tensor<4xi8>
  check.expect_eq_const %i, dense<[14, 12, -10, 127]> : tensor<4xi8>
  %j = stablehlo.bitcast_convert %t : (tensor<4x!quant.uniform<i8:f32, 0.25>>) -> tensor<4xi8>
  check.expect_eq_const %j, dense<[13, 11, 1, 127]> : tensor<4xi8>
  return
}

// -----

// Integer rounding twice: -33.5 becomes -34.
module attributes {systole.rounding = "tflite"} {
  func.func @main() {
    %a = stablehlo.constant dense<[-134, -133, 134]> : tensor<3xi32>
    %x = stablehlo.bitcast_convert %a : (tensor<3xi32>) -> tensor<3x!quant.uniform<i32:f32, 0.125>>
    %q = stablehlo.uniform_quantize %x : (tensor<3x!quant.uniform<i32:f32, 0.125>>) -> tensor<3x!quant.uniform<i8:f32, 0.5>>
    %r = stablehlo.bitcast_convert %q : (tensor<3x!quant.uniform<i8:f32, 0.5>>) -> tensor<3xi8>
    check.expect_eq_const %r, dense<[-34, -33, 34]> : tensor<3xi8>
    return
  }
}
