// Convolutions over two spatial axes, of small whole numbers, so that every order of sums agrees.

// Plain.
func.func @main() {
  %x = stablehlo.constant dense<[[[[2.0, 3.0], [-3.0, -2.0], [-1.0, 0.0], [1.0, 2.0]], [[1.0, 2.0], [3.0, -3.0], [-2.0, -1.0], [0.0, 1.0]], [[0.0, 1.0], [2.0, 3.0], [-3.0, -2.0], [-1.0, 0.0]], [[-1.0, 0.0], [1.0, 2.0], [3.0, -3.0], [-2.0, -1.0]]]]> : tensor<1x4x4x2xf32>
  %k = stablehlo.constant dense<[[[[-2.0, 1.0], [-3.0, 0.0]], [[2.0, -2.0], [1.0, -3.0]]], [[[0.0, 3.0], [-1.0, 2.0]], [[-3.0, 0.0], [3.0, -1.0]]]]> : tensor<2x2x2x2xf32>
  %y = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x4x2xf32>, tensor<2x2x2x2xf32>) -> tensor<1x3x3x2xf32>
  check.expect_eq_const %y, dense<[[[[-41.0, 24.0], [16.0, 3.0], [10.0, -18.0]], [[-3.0, 3.0], [-2.0, 24.0], [13.0, -18.0]], [[7.0, -18.0], [-41.0, 24.0], [16.0, 3.0]]]]> : tensor<1x3x3x2xf32>
  return
}

// -----

// Strides and padding, more of it at one end.
func.func @main() {
  %x = stablehlo.constant dense<[[[[2.0], [-3.0], [-1.0], [1.0]], [[1.0], [3.0], [-2.0], [0.0]], [[0.0], [2.0], [-3.0], [-1.0]], [[-1.0], [1.0], [3.0], [-2.0]], [[-2.0], [0.0], [2.0], [-3.0]]]]> : tensor<1x5x4x1xf32>
  %k = stablehlo.constant dense<[[[[-2.0, 1.0]], [[2.0, -2.0]]], [[[0.0, 3.0]], [[-3.0, 0.0]]], [[[2.0, -2.0]], [[-1.0, 2.0]]]]> : tensor<3x2x1x2xf32>
  %y = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {stride = [2, 1], pad = [[1, 2], [0, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x5x4x1xf32>, tensor<3x2x1x2xf32>) -> tensor<1x3x4x2xf32>
  check.expect_eq_const %y, dense<[[[[8.0, 10.0], [11.0, -19.0], [-7.0, 1.0], [0.0, 3.0]], [[-5.0, -1.0], [-2.0, 17.0], [15.0, -21.0], [-4.0, 1.0]], [[4.0, -9.0], [-2.0, -5.0], [-1.0, 13.0], [4.0, -11.0]]]]> : tensor<1x3x4x2xf32>
  return
}

// -----

// Padding below zero cuts the input.
func.func @main() {
  %x = stablehlo.constant dense<[[[[2.0], [-3.0], [-1.0], [1.0], [3.0]], [[1.0], [3.0], [-2.0], [0.0], [2.0]], [[0.0], [2.0], [-3.0], [-1.0], [1.0]], [[-1.0], [1.0], [3.0], [-2.0], [0.0]], [[-2.0], [0.0], [2.0], [-3.0], [-1.0]]]]> : tensor<1x5x5x1xf32>
  %k = stablehlo.constant dense<[[[[-2.0]], [[2.0]]], [[[0.0]], [[-3.0]]]]> : tensor<2x2x1x1xf32>
  %y = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {stride = [1, 1], pad = [[-1, 0], [0, -1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x5x5x1xf32>, tensor<2x2x1x1xf32>) -> tensor<1x3x3x1xf32>
  check.expect_eq_const %y, dense<[[[[-2.0], [-1.0], [7.0]], [[1.0], [-19.0], [10.0]], [[4.0], [-2.0], [-1.0]]]]> : tensor<1x3x3x1xf32>
  return
}

// -----

// The input dilated: what the gradient of a strided convolution is.
func.func @main() {
  %x = stablehlo.constant dense<[[[[2.0], [-3.0]], [[1.0], [3.0]], [[0.0], [2.0]]]]> : tensor<1x3x2x1xf32>
  %k = stablehlo.constant dense<[[[[-2.0, 1.0]], [[2.0, -2.0]]], [[[0.0, 3.0]], [[-3.0, 0.0]]]]> : tensor<2x2x1x2xf32>
  %y = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {stride = [1, 1], pad = [[1, 1], [1, 0]], lhs_dilate = [2, 3], rhs_dilate = [1, 1], reverse = [false, false]}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x2x1xf32>, tensor<2x2x1x2xf32>) -> tensor<1x6x4x2xf32>
  check.expect_eq_const %y, dense<[[[[-6.0, 0.0], [0.0, 6.0], [0.0, 0.0], [9.0, 0.0]], [[4.0, -4.0], [-4.0, 2.0], [0.0, 0.0], [-6.0, 6.0]], [[-3.0, 0.0], [0.0, 3.0], [0.0, 0.0], [-9.0, 0.0]], [[2.0, -2.0], [-2.0, 1.0], [0.0, 0.0], [6.0, -6.0]], [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [-6.0, 0.0]], [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [4.0, -4.0]]]]> : tensor<1x6x4x2xf32>
  return
}

// -----

// The kernel dilated.
func.func @main() {
  %x = stablehlo.constant dense<[[[[2.0], [-3.0], [-1.0], [1.0], [3.0], [-2.0]], [[1.0], [3.0], [-2.0], [0.0], [2.0], [-3.0]], [[0.0], [2.0], [-3.0], [-1.0], [1.0], [3.0]], [[-1.0], [1.0], [3.0], [-2.0], [0.0], [2.0]], [[-2.0], [0.0], [2.0], [-3.0], [-1.0], [1.0]], [[-3.0], [-1.0], [1.0], [3.0], [-2.0], [0.0]]]]> : tensor<1x6x6x1xf32>
  %k = stablehlo.constant dense<[[[[-2.0]], [[2.0]], [[-1.0]]], [[[0.0]], [[-3.0]], [[1.0]]]]> : tensor<2x3x1x1xf32>
  %y = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [3, 2], reverse = [false, false]}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x6x6x1xf32>, tensor<2x3x1x1xf32>) -> tensor<1x3x2x1xf32>
  check.expect_eq_const %y, dense<[[[[-18.0], [18.0]], [[-15.0], [7.0]], [[-12.0], [-18.0]]]]> : tensor<1x3x2x1xf32>
  return
}

// -----

// The kernel reversed.
func.func @main() {
  %x = stablehlo.constant dense<[[[[2.0], [-3.0], [-1.0], [1.0]], [[1.0], [3.0], [-2.0], [0.0]], [[0.0], [2.0], [-3.0], [-1.0]], [[-1.0], [1.0], [3.0], [-2.0]]]]> : tensor<1x4x4x1xf32>
  %k = stablehlo.constant dense<[[[[-2.0, 1.0]], [[2.0, -2.0]], [[-1.0, 2.0]]], [[[0.0, 3.0]], [[-3.0, 0.0]], [[1.0, -3.0]]]]> : tensor<2x3x1x2xf32>
  %y = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [true, false]}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x4x1xf32>, tensor<2x3x1x2xf32>) -> tensor<1x3x2x2xf32>
  check.expect_eq_const %y, dense<[[[[14.0, 0.0], [-6.0, -5.0]], [[-4.0, -1.0], [-3.0, 15.0]], [[-8.0, 12.0], [14.0, 0.0]]]]> : tensor<1x3x2x2xf32>
  return
}

// -----

// Groups of features: a depthwise convolution of two channels.
func.func @main() {
  %x = stablehlo.constant dense<[[[[2.0, 3.0], [-3.0, -2.0], [-1.0, 0.0]], [[1.0, 2.0], [3.0, -3.0], [-2.0, -1.0]], [[0.0, 1.0], [2.0, 3.0], [-3.0, -2.0]], [[-1.0, 0.0], [1.0, 2.0], [3.0, -3.0]]]]> : tensor<1x4x3x2xf32>
  %k = stablehlo.constant dense<[[[[-2.0, 1.0, -3.0, 0.0]], [[2.0, -2.0, 1.0, -3.0]]], [[[0.0, 3.0, -1.0, 2.0]], [[-3.0, 0.0, 3.0, -1.0]]]]> : tensor<2x2x1x4xf32>
  %y = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]}
    {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x4x3x2xf32>, tensor<2x2x1x4xf32>) -> tensor<1x3x2x4xf32>
  check.expect_eq_const %y, dense<[[[[-19.0, 11.0, -22.0, 13.0], [10.0, 8.0, 6.0, -5.0]], [[-2.0, -5.0, -1.0, 8.0], [-1.0, 13.0, -1.0, 11.0]], [[1.0, -7.0, 6.0, -11.0], [-19.0, 11.0, -22.0, 13.0]]]]> : tensor<1x3x2x4xf32>
  return
}

// -----

// Groups of the batch: what the gradient of a kernel is.
func.func @main() {
  %x = stablehlo.constant dense<[[[[2.0], [-3.0], [-1.0]], [[1.0], [3.0], [-2.0]], [[0.0], [2.0], [-3.0]]], [[[-2.0], [0.0], [2.0]], [[-3.0], [-1.0], [1.0]], [[3.0], [-2.0], [0.0]]], [[[1.0], [3.0], [-2.0]], [[0.0], [2.0], [-3.0]], [[-1.0], [1.0], [3.0]]], [[[-3.0], [-1.0], [1.0]], [[3.0], [-2.0], [0.0]], [[2.0], [-3.0], [-1.0]]]]> : tensor<4x3x3x1xf32>
  %k = stablehlo.constant dense<[[[[-2.0, 1.0]], [[2.0, -2.0]]], [[[0.0, 3.0]], [[-3.0, 0.0]]]]> : tensor<2x2x1x2xf32>
  %y = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]}
    {batch_group_count = 2 : i64, feature_group_count = 1 : i64} : (tensor<4x3x3x1xf32>, tensor<2x2x1x2xf32>) -> tensor<2x2x2x2xf32>
  check.expect_eq_const %y, dense<[[[[-19.0, -5.0], [10.0, 13.0]], [[-2.0, -7.0], [-1.0, 11.0]]], [[[7.0, 8.0], [1.0, -9.0]], [[10.0, 13.0], [4.0, -11.0]]]]> : tensor<2x2x2x2xf32>
  return
}
