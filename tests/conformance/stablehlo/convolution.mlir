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

// -----

// A convolution over one axis with the axes of its input, its kernel and its output in every order. Expected: by hand.
func.func @main() {
  %x_b0f = stablehlo.constant dense<[[[-3.0, -1.0], [0.0, 2.0], [3.0, -2.0], [-1.0, 1.0]], [[2.0, -3.0], [-2.0, 0.0], [1.0, 3.0], [-3.0, -1.0]]]> : tensor<2x4x2xf32>
  %e_b0f = stablehlo.constant dense<[[[7.0, -9.0], [4.0, 12.0]], [[-5.0, -9.0], [-8.0, 5.0]]]> : tensor<2x2x2xf32>
  %x_bf0 = stablehlo.constant dense<[[[-3.0, 0.0, 3.0, -1.0], [-1.0, 2.0, -2.0, 1.0]], [[2.0, -2.0, 1.0, -3.0], [-3.0, 0.0, 3.0, -1.0]]]> : tensor<2x2x4xf32>
  %e_bf0 = stablehlo.constant dense<[[[7.0, 4.0], [-9.0, 12.0]], [[-5.0, -8.0], [-9.0, 5.0]]]> : tensor<2x2x2xf32>
  %x_0bf = stablehlo.constant dense<[[[-3.0, -1.0], [2.0, -3.0]], [[0.0, 2.0], [-2.0, 0.0]], [[3.0, -2.0], [1.0, 3.0]], [[-1.0, 1.0], [-3.0, -1.0]]]> : tensor<4x2x2xf32>
  %e_0bf = stablehlo.constant dense<[[[7.0, -9.0], [-5.0, -9.0]], [[4.0, 12.0], [-8.0, 5.0]]]> : tensor<2x2x2xf32>
  %x_0fb = stablehlo.constant dense<[[[-3.0, 2.0], [-1.0, -3.0]], [[0.0, -2.0], [2.0, 0.0]], [[3.0, 1.0], [-2.0, 3.0]], [[-1.0, -3.0], [1.0, -1.0]]]> : tensor<4x2x2xf32>
  %e_0fb = stablehlo.constant dense<[[[7.0, -5.0], [-9.0, -9.0]], [[4.0, -8.0], [12.0, 5.0]]]> : tensor<2x2x2xf32>
  %x_fb0 = stablehlo.constant dense<[[[-3.0, 0.0, 3.0, -1.0], [2.0, -2.0, 1.0, -3.0]], [[-1.0, 2.0, -2.0, 1.0], [-3.0, 0.0, 3.0, -1.0]]]> : tensor<2x2x4xf32>
  %e_fb0 = stablehlo.constant dense<[[[7.0, 4.0], [-5.0, -8.0]], [[-9.0, 12.0], [-9.0, 5.0]]]> : tensor<2x2x2xf32>
  %x_f0b = stablehlo.constant dense<[[[-3.0, 2.0], [0.0, -2.0], [3.0, 1.0], [-1.0, -3.0]], [[-1.0, -3.0], [2.0, 0.0], [-2.0, 3.0], [1.0, -1.0]]]> : tensor<2x4x2xf32>
  %e_f0b = stablehlo.constant dense<[[[7.0, -5.0], [4.0, -8.0]], [[-9.0, -9.0], [12.0, 5.0]]]> : tensor<2x2x2xf32>
  %k_0io = stablehlo.constant dense<[[[-2.0, -1.0], [1.0, 2.0]], [[0.0, 1.0], [-2.0, -1.0]], [[2.0, -2.0], [0.0, 1.0]]]> : tensor<3x2x2xf32>
  %k_0oi = stablehlo.constant dense<[[[-2.0, 1.0], [-1.0, 2.0]], [[0.0, -2.0], [1.0, -1.0]], [[2.0, 0.0], [-2.0, 1.0]]]> : tensor<3x2x2xf32>
  %k_i0o = stablehlo.constant dense<[[[-2.0, -1.0], [0.0, 1.0], [2.0, -2.0]], [[1.0, 2.0], [-2.0, -1.0], [0.0, 1.0]]]> : tensor<2x3x2xf32>
  %k_io0 = stablehlo.constant dense<[[[-2.0, 0.0, 2.0], [-1.0, 1.0, -2.0]], [[1.0, -2.0, 0.0], [2.0, -1.0, 1.0]]]> : tensor<2x2x3xf32>
  %k_o0i = stablehlo.constant dense<[[[-2.0, 1.0], [0.0, -2.0], [2.0, 0.0]], [[-1.0, 2.0], [1.0, -1.0], [-2.0, 1.0]]]> : tensor<2x3x2xf32>
  %k_oi0 = stablehlo.constant dense<[[[-2.0, 0.0, 2.0], [1.0, -2.0, 0.0]], [[-1.0, 1.0, -2.0], [2.0, -1.0, 1.0]]]> : tensor<2x2x3xf32>
  %c1 = stablehlo.convolution(%x_b0f, %k_0io) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x4x2xf32>, tensor<3x2x2xf32>) -> tensor<2x2x2xf32>
  check.expect_eq %c1, %e_b0f : tensor<2x2x2xf32>
  %c2 = stablehlo.convolution(%x_b0f, %k_0oi) dim_numbers = [b, 0, f]x[0, o, i]->[b, f, 0], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x4x2xf32>, tensor<3x2x2xf32>) -> tensor<2x2x2xf32>
  check.expect_eq %c2, %e_bf0 : tensor<2x2x2xf32>
  %c3 = stablehlo.convolution(%x_b0f, %k_i0o) dim_numbers = [b, 0, f]x[i, 0, o]->[0, b, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x4x2xf32>, tensor<2x3x2xf32>) -> tensor<2x2x2xf32>
  check.expect_eq %c3, %e_0bf : tensor<2x2x2xf32>
  %c4 = stablehlo.convolution(%x_b0f, %k_io0) dim_numbers = [b, 0, f]x[i, o, 0]->[0, f, b], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x4x2xf32>, tensor<2x2x3xf32>) -> tensor<2x2x2xf32>
  check.expect_eq %c4, %e_0fb : tensor<2x2x2xf32>
  %c5 = stablehlo.convolution(%x_b0f, %k_o0i) dim_numbers = [b, 0, f]x[o, 0, i]->[f, b, 0], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x4x2xf32>, tensor<2x3x2xf32>) -> tensor<2x2x2xf32>
  check.expect_eq %c5, %e_fb0 : tensor<2x2x2xf32>
  %c6 = stablehlo.convolution(%x_b0f, %k_oi0) dim_numbers = [b, 0, f]x[o, i, 0]->[f, 0, b], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x4x2xf32>, tensor<2x2x3xf32>) -> tensor<2x2x2xf32>
  check.expect_eq %c6, %e_f0b : tensor<2x2x2xf32>
  %c7 = stablehlo.convolution(%x_bf0, %k_0io) dim_numbers = [b, f, 0]x[0, i, o]->[f, 0, b], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x2x4xf32>, tensor<3x2x2xf32>) -> tensor<2x2x2xf32>
  check.expect_eq %c7, %e_f0b : tensor<2x2x2xf32>
  %c8 = stablehlo.convolution(%x_bf0, %k_0oi) dim_numbers = [b, f, 0]x[0, o, i]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x2x4xf32>, tensor<3x2x2xf32>) -> tensor<2x2x2xf32>
  check.expect_eq %c8, %e_b0f : tensor<2x2x2xf32>
  %c9 = stablehlo.convolution(%x_bf0, %k_i0o) dim_numbers = [b, f, 0]x[i, 0, o]->[b, f, 0], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x2x4xf32>, tensor<2x3x2xf32>) -> tensor<2x2x2xf32>
  check.expect_eq %c9, %e_bf0 : tensor<2x2x2xf32>
  %c10 = stablehlo.convolution(%x_bf0, %k_io0) dim_numbers = [b, f, 0]x[i, o, 0]->[0, b, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x2x4xf32>, tensor<2x2x3xf32>) -> tensor<2x2x2xf32>
  check.expect_eq %c10, %e_0bf : tensor<2x2x2xf32>
  %c11 = stablehlo.convolution(%x_bf0, %k_o0i) dim_numbers = [b, f, 0]x[o, 0, i]->[0, f, b], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x2x4xf32>, tensor<2x3x2xf32>) -> tensor<2x2x2xf32>
  check.expect_eq %c11, %e_0fb : tensor<2x2x2xf32>
  %c12 = stablehlo.convolution(%x_bf0, %k_oi0) dim_numbers = [b, f, 0]x[o, i, 0]->[f, b, 0], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x2x4xf32>, tensor<2x2x3xf32>) -> tensor<2x2x2xf32>
  check.expect_eq %c12, %e_fb0 : tensor<2x2x2xf32>
  %c13 = stablehlo.convolution(%x_0bf, %k_0io) dim_numbers = [0, b, f]x[0, i, o]->[f, b, 0], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x2x2xf32>, tensor<3x2x2xf32>) -> tensor<2x2x2xf32>
  check.expect_eq %c13, %e_fb0 : tensor<2x2x2xf32>
  %c14 = stablehlo.convolution(%x_0bf, %k_0oi) dim_numbers = [0, b, f]x[0, o, i]->[f, 0, b], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x2x2xf32>, tensor<3x2x2xf32>) -> tensor<2x2x2xf32>
  check.expect_eq %c14, %e_f0b : tensor<2x2x2xf32>
  %c15 = stablehlo.convolution(%x_0bf, %k_i0o) dim_numbers = [0, b, f]x[i, 0, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x2x2xf32>, tensor<2x3x2xf32>) -> tensor<2x2x2xf32>
  check.expect_eq %c15, %e_b0f : tensor<2x2x2xf32>
  %c16 = stablehlo.convolution(%x_0bf, %k_io0) dim_numbers = [0, b, f]x[i, o, 0]->[b, f, 0], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x2x2xf32>, tensor<2x2x3xf32>) -> tensor<2x2x2xf32>
  check.expect_eq %c16, %e_bf0 : tensor<2x2x2xf32>
  %c17 = stablehlo.convolution(%x_0bf, %k_o0i) dim_numbers = [0, b, f]x[o, 0, i]->[0, b, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x2x2xf32>, tensor<2x3x2xf32>) -> tensor<2x2x2xf32>
  check.expect_eq %c17, %e_0bf : tensor<2x2x2xf32>
  %c18 = stablehlo.convolution(%x_0bf, %k_oi0) dim_numbers = [0, b, f]x[o, i, 0]->[0, f, b], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x2x2xf32>, tensor<2x2x3xf32>) -> tensor<2x2x2xf32>
  check.expect_eq %c18, %e_0fb : tensor<2x2x2xf32>
  %c19 = stablehlo.convolution(%x_0fb, %k_0io) dim_numbers = [0, f, b]x[0, i, o]->[0, f, b], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x2x2xf32>, tensor<3x2x2xf32>) -> tensor<2x2x2xf32>
  check.expect_eq %c19, %e_0fb : tensor<2x2x2xf32>
  %c20 = stablehlo.convolution(%x_0fb, %k_0oi) dim_numbers = [0, f, b]x[0, o, i]->[f, b, 0], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x2x2xf32>, tensor<3x2x2xf32>) -> tensor<2x2x2xf32>
  check.expect_eq %c20, %e_fb0 : tensor<2x2x2xf32>
  %c21 = stablehlo.convolution(%x_0fb, %k_i0o) dim_numbers = [0, f, b]x[i, 0, o]->[f, 0, b], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x2x2xf32>, tensor<2x3x2xf32>) -> tensor<2x2x2xf32>
  check.expect_eq %c21, %e_f0b : tensor<2x2x2xf32>
  %c22 = stablehlo.convolution(%x_0fb, %k_io0) dim_numbers = [0, f, b]x[i, o, 0]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x2x2xf32>, tensor<2x2x3xf32>) -> tensor<2x2x2xf32>
  check.expect_eq %c22, %e_b0f : tensor<2x2x2xf32>
  %c23 = stablehlo.convolution(%x_0fb, %k_o0i) dim_numbers = [0, f, b]x[o, 0, i]->[b, f, 0], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x2x2xf32>, tensor<2x3x2xf32>) -> tensor<2x2x2xf32>
  check.expect_eq %c23, %e_bf0 : tensor<2x2x2xf32>
  %c24 = stablehlo.convolution(%x_0fb, %k_oi0) dim_numbers = [0, f, b]x[o, i, 0]->[0, b, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x2x2xf32>, tensor<2x2x3xf32>) -> tensor<2x2x2xf32>
  check.expect_eq %c24, %e_0bf : tensor<2x2x2xf32>
  %c25 = stablehlo.convolution(%x_fb0, %k_0io) dim_numbers = [f, b, 0]x[0, i, o]->[0, b, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x2x4xf32>, tensor<3x2x2xf32>) -> tensor<2x2x2xf32>
  check.expect_eq %c25, %e_0bf : tensor<2x2x2xf32>
  %c26 = stablehlo.convolution(%x_fb0, %k_0oi) dim_numbers = [f, b, 0]x[0, o, i]->[0, f, b], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x2x4xf32>, tensor<3x2x2xf32>) -> tensor<2x2x2xf32>
  check.expect_eq %c26, %e_0fb : tensor<2x2x2xf32>
  %c27 = stablehlo.convolution(%x_fb0, %k_i0o) dim_numbers = [f, b, 0]x[i, 0, o]->[f, b, 0], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x2x4xf32>, tensor<2x3x2xf32>) -> tensor<2x2x2xf32>
  check.expect_eq %c27, %e_fb0 : tensor<2x2x2xf32>
  %c28 = stablehlo.convolution(%x_fb0, %k_io0) dim_numbers = [f, b, 0]x[i, o, 0]->[f, 0, b], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x2x4xf32>, tensor<2x2x3xf32>) -> tensor<2x2x2xf32>
  check.expect_eq %c28, %e_f0b : tensor<2x2x2xf32>
  %c29 = stablehlo.convolution(%x_fb0, %k_o0i) dim_numbers = [f, b, 0]x[o, 0, i]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x2x4xf32>, tensor<2x3x2xf32>) -> tensor<2x2x2xf32>
  check.expect_eq %c29, %e_b0f : tensor<2x2x2xf32>
  %c30 = stablehlo.convolution(%x_fb0, %k_oi0) dim_numbers = [f, b, 0]x[o, i, 0]->[b, f, 0], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x2x4xf32>, tensor<2x2x3xf32>) -> tensor<2x2x2xf32>
  check.expect_eq %c30, %e_bf0 : tensor<2x2x2xf32>
  %c31 = stablehlo.convolution(%x_f0b, %k_0io) dim_numbers = [f, 0, b]x[0, i, o]->[b, f, 0], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x4x2xf32>, tensor<3x2x2xf32>) -> tensor<2x2x2xf32>
  check.expect_eq %c31, %e_bf0 : tensor<2x2x2xf32>
  %c32 = stablehlo.convolution(%x_f0b, %k_0oi) dim_numbers = [f, 0, b]x[0, o, i]->[0, b, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x4x2xf32>, tensor<3x2x2xf32>) -> tensor<2x2x2xf32>
  check.expect_eq %c32, %e_0bf : tensor<2x2x2xf32>
  %c33 = stablehlo.convolution(%x_f0b, %k_i0o) dim_numbers = [f, 0, b]x[i, 0, o]->[0, f, b], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x4x2xf32>, tensor<2x3x2xf32>) -> tensor<2x2x2xf32>
  check.expect_eq %c33, %e_0fb : tensor<2x2x2xf32>
  %c34 = stablehlo.convolution(%x_f0b, %k_io0) dim_numbers = [f, 0, b]x[i, o, 0]->[f, b, 0], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x4x2xf32>, tensor<2x2x3xf32>) -> tensor<2x2x2xf32>
  check.expect_eq %c34, %e_fb0 : tensor<2x2x2xf32>
  %c35 = stablehlo.convolution(%x_f0b, %k_o0i) dim_numbers = [f, 0, b]x[o, 0, i]->[f, 0, b], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x4x2xf32>, tensor<2x3x2xf32>) -> tensor<2x2x2xf32>
  check.expect_eq %c35, %e_f0b : tensor<2x2x2xf32>
  %c36 = stablehlo.convolution(%x_f0b, %k_oi0) dim_numbers = [f, 0, b]x[o, i, 0]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x4x2xf32>, tensor<2x2x3xf32>) -> tensor<2x2x2xf32>
  check.expect_eq %c36, %e_b0f : tensor<2x2x2xf32>
  return
}
