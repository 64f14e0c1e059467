// Products with batches, of small whole numbers, so that every order of sums agrees.

// A batch of matrix products.
func.func @main() {
  %x = stablehlo.constant dense<[[[1.0, 3.0, -2.0], [0.0, 2.0, -3.0]], [[-3.0, -1.0, 1.0], [3.0, -2.0, 0.0]]]> : tensor<2x2x3xf32>
  %y = stablehlo.constant dense<[[[2.0, 1.0], [-1.0, -2.0], [3.0, 2.0]], [[-3.0, 3.0], [1.0, 0.0], [-2.0, -3.0]]]> : tensor<2x3x2xf32>
  %z = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x2x3xf32>, tensor<2x3x2xf32>) -> tensor<2x2x2xf32>
  check.expect_eq_const %z, dense<[[[-7.0, -9.0], [-11.0, -10.0]], [[6.0, -12.0], [-11.0, 9.0]]]> : tensor<2x2x2xf32>
  return
}

// -----

// The batch is not the first axis.
func.func @main() {
  %x = stablehlo.constant dense<[[[1.0, 3.0], [0.0, 2.0]], [[-3.0, -1.0], [3.0, -2.0]], [[0.0, 2.0], [-1.0, 1.0]]]> : tensor<3x2x2xf32>
  %y = stablehlo.constant dense<[[[2.0, 1.0], [-1.0, -2.0], [3.0, 2.0], [0.0, -1.0]], [[-3.0, 3.0], [1.0, 0.0], [-2.0, -3.0], [2.0, 1.0]], [[-1.0, -2.0], [3.0, 2.0], [0.0, -1.0], [-3.0, 3.0]]]> : tensor<3x4x2xf32>
  %z = stablehlo.dot_general %x, %y, batching_dims = [2] x [2], contracting_dims = [0] x [0] : (tensor<3x2x2xf32>, tensor<3x4x2xf32>) -> tensor<2x2x4xf32>
  check.expect_eq_const %z, dense<[[[11.0, -4.0, 9.0, -6.0], [-8.0, 0.0, -6.0, 9.0]], [[-4.0, -2.0, 7.0, 2.0], [-6.0, -2.0, 9.0, -1.0]]]> : tensor<2x2x4xf32>
  return
}

// -----

// Two batching and two contracting axes.
func.func @main() {
  %x = stablehlo.constant dense<[[[[2.0, 3.0], [-3.0, -2.0]], [[1.0, 2.0], [3.0, -3.0]], [[0.0, 1.0], [2.0, 3.0]]], [[[-2.0, -1.0], [0.0, 1.0]], [[-3.0, -2.0], [-1.0, 0.0]], [[3.0, -3.0], [-2.0, -1.0]]]]> : tensor<2x3x2x2xf32>
  %y = stablehlo.constant dense<[[[[-2.0, 1.0], [-3.0, 0.0], [3.0, -1.0]], [[2.0, -2.0], [1.0, -3.0], [0.0, 3.0]]], [[[0.0, 3.0], [-1.0, 2.0], [-2.0, 1.0]], [[-3.0, 0.0], [3.0, -1.0], [2.0, -2.0]]]]> : tensor<2x2x3x2xf32>
  %z = stablehlo.dot_general %x, %y, batching_dims = [0, 2] x [0, 1], contracting_dims = [1, 3] x [2, 3] : (tensor<2x3x2x2xf32>, tensor<2x2x3x2xf32>) -> tensor<2x2xf32>
  check.expect_eq_const %z, dense<[[-5.0, 19.0], [-13.0, -5.0]]> : tensor<2x2xf32>
  return
}

// -----

// Both operands transposed.
func.func @main() {
  %x = stablehlo.constant dense<[[-1.0, -2.0], [2.0, 1.0], [-2.0, -3.0]]> : tensor<3x2xf32>
  %y = stablehlo.constant dense<[[3.0, 0.0, -3.0], [-2.0, 2.0, -1.0], [0.0, -3.0, 1.0], [2.0, -1.0, 3.0]]> : tensor<4x3xf32>
  %z = stablehlo.dot_general %x, %y, contracting_dims = [0] x [1] : (tensor<3x2xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  check.expect_eq_const %z, dense<[[3.0, 8.0, -8.0, -10.0], [3.0, 9.0, -6.0, -14.0]]> : tensor<2x4xf32>
  return
}

// -----

// An outer product: nothing is contracted.
func.func @main() {
  %x = stablehlo.constant dense<[0.0, 3.0]> : tensor<2xf32>
  %y = stablehlo.constant dense<[-1.0, 1.0, 3.0]> : tensor<3xf32>
  %z = stablehlo.dot_general %x, %y, contracting_dims = [] x [] : (tensor<2xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  check.expect_eq_const %z, dense<[[0.0, 0.0, 0.0], [-3.0, 3.0, 9.0]]> : tensor<2x3xf32>
  return
}

// -----

// A scalar: everything is.
func.func @main() {
  %x = stablehlo.constant dense<[[-1.0, -2.0, -3.0], [2.0, 1.0, 0.0]]> : tensor<2x3xf32>
  %y = stablehlo.constant dense<[[3.0, 0.0, -3.0], [-2.0, 2.0, -1.0]]> : tensor<2x3xf32>
  %z = stablehlo.dot_general %x, %y, contracting_dims = [0, 1] x [0, 1] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<f32>
  check.expect_eq_const %z, dense<4.0> : tensor<f32>
  return
}

// -----

// Whole numbers into wider ones.
func.func @main() {
  %x = stablehlo.constant dense<[[-1, -2, -3], [2, 1, 0]]> : tensor<2x3xi8>
  %y = stablehlo.constant dense<[[3, 0], [-2, 2], [0, -3]]> : tensor<3x2xi8>
  %z = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<2x3xi8>, tensor<3x2xi8>) -> tensor<2x2xi32>
  check.expect_eq_const %z, dense<[[1, 5], [4, 2]]> : tensor<2x2xi32>
  return
}

// -----

// bf16 into f32.
func.func @main() {
  %x = stablehlo.constant dense<[[-1.0, -2.0, -3.0], [2.0, 1.0, 0.0]]> : tensor<2x3xbf16>
  %y = stablehlo.constant dense<[[3.0, 0.0], [-2.0, 2.0], [0.0, -3.0]]> : tensor<3x2xbf16>
  %z = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<2x3xbf16>, tensor<3x2xbf16>) -> tensor<2x2xf32>
  check.expect_eq_const %z, dense<[[1.0, 5.0], [4.0, 2.0]]> : tensor<2x2xf32>
  return
}

// -----

// f64.
func.func @main() {
  %x = stablehlo.constant dense<[[-1.0, -2.0, -3.0], [2.0, 1.0, 0.0]]> : tensor<2x3xf64>
  %y = stablehlo.constant dense<[[3.0, 0.0], [-2.0, 2.0], [0.0, -3.0]]> : tensor<3x2xf64>
  %z = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<2x3xf64>, tensor<3x2xf64>) -> tensor<2x2xf64>
  check.expect_eq_const %z, dense<[[1.0, 5.0], [4.0, 2.0]]> : tensor<2x2xf64>
  return
}
