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

// -----

// A batch of products with the axes of both operands in every order. Expected: the sums by hand.
func.func @main() {
  %lbmk = stablehlo.constant dense<[[[-1.0, 1.0], [-3.0, -1.0]], [[2.0, 4.0], [0.0, 2.0]]]> : tensor<2x2x2xf32>
  %lbkm = stablehlo.constant dense<[[[-1.0, -3.0], [1.0, -1.0]], [[2.0, 0.0], [4.0, 2.0]]]> : tensor<2x2x2xf32>
  %lmbk = stablehlo.constant dense<[[[-1.0, 1.0], [2.0, 4.0]], [[-3.0, -1.0], [0.0, 2.0]]]> : tensor<2x2x2xf32>
  %lmkb = stablehlo.constant dense<[[[-1.0, 2.0], [1.0, 4.0]], [[-3.0, 0.0], [-1.0, 2.0]]]> : tensor<2x2x2xf32>
  %lkbm = stablehlo.constant dense<[[[-1.0, -3.0], [2.0, 0.0]], [[1.0, -1.0], [4.0, 2.0]]]> : tensor<2x2x2xf32>
  %lkmb = stablehlo.constant dense<[[[-1.0, 2.0], [-3.0, 0.0]], [[1.0, 4.0], [-1.0, 2.0]]]> : tensor<2x2x2xf32>
  %rbkn = stablehlo.constant dense<[[[0.0, 1.0, 2.0], [-3.0, -2.0, -1.0]], [[-2.0, 0.0, 2.0], [-5.0, -3.0, -1.0]]]> : tensor<2x2x3xf32>
  %rbnk = stablehlo.constant dense<[[[0.0, -3.0], [1.0, -2.0], [2.0, -1.0]], [[-2.0, -5.0], [0.0, -3.0], [2.0, -1.0]]]> : tensor<2x3x2xf32>
  %rkbn = stablehlo.constant dense<[[[0.0, 1.0, 2.0], [-2.0, 0.0, 2.0]], [[-3.0, -2.0, -1.0], [-5.0, -3.0, -1.0]]]> : tensor<2x2x3xf32>
  %rknb = stablehlo.constant dense<[[[0.0, -2.0], [1.0, 0.0], [2.0, 2.0]], [[-3.0, -5.0], [-2.0, -3.0], [-1.0, -1.0]]]> : tensor<2x3x2xf32>
  %rnbk = stablehlo.constant dense<[[[0.0, -3.0], [-2.0, -5.0]], [[1.0, -2.0], [0.0, -3.0]], [[2.0, -1.0], [2.0, -1.0]]]> : tensor<3x2x2xf32>
  %rnkb = stablehlo.constant dense<[[[0.0, -2.0], [-3.0, -5.0]], [[1.0, 0.0], [-2.0, -3.0]], [[2.0, 2.0], [-1.0, -1.0]]]> : tensor<3x2x2xf32>
  %expected = stablehlo.constant dense<[[[-3.0, -3.0, -3.0], [3.0, -1.0, -5.0]], [[-24.0, -12.0, 0.0], [-10.0, -6.0, -2.0]]]> : tensor<2x2x3xf32>
  %p00 = stablehlo.dot_general %lbmk, %rbkn, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x2x2xf32>, tensor<2x2x3xf32>) -> tensor<2x2x3xf32>
  check.expect_eq %expected, %p00 : tensor<2x2x3xf32>
  %p01 = stablehlo.dot_general %lbmk, %rbnk, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x2x2xf32>, tensor<2x3x2xf32>) -> tensor<2x2x3xf32>
  check.expect_eq %expected, %p01 : tensor<2x2x3xf32>
  %p02 = stablehlo.dot_general %lbmk, %rkbn, batching_dims = [0] x [1], contracting_dims = [2] x [0] : (tensor<2x2x2xf32>, tensor<2x2x3xf32>) -> tensor<2x2x3xf32>
  check.expect_eq %expected, %p02 : tensor<2x2x3xf32>
  %p03 = stablehlo.dot_general %lbmk, %rknb, batching_dims = [0] x [2], contracting_dims = [2] x [0] : (tensor<2x2x2xf32>, tensor<2x3x2xf32>) -> tensor<2x2x3xf32>
  check.expect_eq %expected, %p03 : tensor<2x2x3xf32>
  %p04 = stablehlo.dot_general %lbmk, %rnbk, batching_dims = [0] x [1], contracting_dims = [2] x [2] : (tensor<2x2x2xf32>, tensor<3x2x2xf32>) -> tensor<2x2x3xf32>
  check.expect_eq %expected, %p04 : tensor<2x2x3xf32>
  %p05 = stablehlo.dot_general %lbmk, %rnkb, batching_dims = [0] x [2], contracting_dims = [2] x [1] : (tensor<2x2x2xf32>, tensor<3x2x2xf32>) -> tensor<2x2x3xf32>
  check.expect_eq %expected, %p05 : tensor<2x2x3xf32>
  %p10 = stablehlo.dot_general %lbkm, %rbkn, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<2x2x2xf32>, tensor<2x2x3xf32>) -> tensor<2x2x3xf32>
  check.expect_eq %expected, %p10 : tensor<2x2x3xf32>
  %p11 = stablehlo.dot_general %lbkm, %rbnk, batching_dims = [0] x [0], contracting_dims = [1] x [2] : (tensor<2x2x2xf32>, tensor<2x3x2xf32>) -> tensor<2x2x3xf32>
  check.expect_eq %expected, %p11 : tensor<2x2x3xf32>
  %p12 = stablehlo.dot_general %lbkm, %rkbn, batching_dims = [0] x [1], contracting_dims = [1] x [0] : (tensor<2x2x2xf32>, tensor<2x2x3xf32>) -> tensor<2x2x3xf32>
  check.expect_eq %expected, %p12 : tensor<2x2x3xf32>
  %p13 = stablehlo.dot_general %lbkm, %rknb, batching_dims = [0] x [2], contracting_dims = [1] x [0] : (tensor<2x2x2xf32>, tensor<2x3x2xf32>) -> tensor<2x2x3xf32>
  check.expect_eq %expected, %p13 : tensor<2x2x3xf32>
  %p14 = stablehlo.dot_general %lbkm, %rnbk, batching_dims = [0] x [1], contracting_dims = [1] x [2] : (tensor<2x2x2xf32>, tensor<3x2x2xf32>) -> tensor<2x2x3xf32>
  check.expect_eq %expected, %p14 : tensor<2x2x3xf32>
  %p15 = stablehlo.dot_general %lbkm, %rnkb, batching_dims = [0] x [2], contracting_dims = [1] x [1] : (tensor<2x2x2xf32>, tensor<3x2x2xf32>) -> tensor<2x2x3xf32>
  check.expect_eq %expected, %p15 : tensor<2x2x3xf32>
  %p20 = stablehlo.dot_general %lmbk, %rbkn, batching_dims = [1] x [0], contracting_dims = [2] x [1] : (tensor<2x2x2xf32>, tensor<2x2x3xf32>) -> tensor<2x2x3xf32>
  check.expect_eq %expected, %p20 : tensor<2x2x3xf32>
  %p21 = stablehlo.dot_general %lmbk, %rbnk, batching_dims = [1] x [0], contracting_dims = [2] x [2] : (tensor<2x2x2xf32>, tensor<2x3x2xf32>) -> tensor<2x2x3xf32>
  check.expect_eq %expected, %p21 : tensor<2x2x3xf32>
  %p22 = stablehlo.dot_general %lmbk, %rkbn, batching_dims = [1] x [1], contracting_dims = [2] x [0] : (tensor<2x2x2xf32>, tensor<2x2x3xf32>) -> tensor<2x2x3xf32>
  check.expect_eq %expected, %p22 : tensor<2x2x3xf32>
  %p23 = stablehlo.dot_general %lmbk, %rknb, batching_dims = [1] x [2], contracting_dims = [2] x [0] : (tensor<2x2x2xf32>, tensor<2x3x2xf32>) -> tensor<2x2x3xf32>
  check.expect_eq %expected, %p23 : tensor<2x2x3xf32>
  %p24 = stablehlo.dot_general %lmbk, %rnbk, batching_dims = [1] x [1], contracting_dims = [2] x [2] : (tensor<2x2x2xf32>, tensor<3x2x2xf32>) -> tensor<2x2x3xf32>
  check.expect_eq %expected, %p24 : tensor<2x2x3xf32>
  %p25 = stablehlo.dot_general %lmbk, %rnkb, batching_dims = [1] x [2], contracting_dims = [2] x [1] : (tensor<2x2x2xf32>, tensor<3x2x2xf32>) -> tensor<2x2x3xf32>
  check.expect_eq %expected, %p25 : tensor<2x2x3xf32>
  %p30 = stablehlo.dot_general %lmkb, %rbkn, batching_dims = [2] x [0], contracting_dims = [1] x [1] : (tensor<2x2x2xf32>, tensor<2x2x3xf32>) -> tensor<2x2x3xf32>
  check.expect_eq %expected, %p30 : tensor<2x2x3xf32>
  %p31 = stablehlo.dot_general %lmkb, %rbnk, batching_dims = [2] x [0], contracting_dims = [1] x [2] : (tensor<2x2x2xf32>, tensor<2x3x2xf32>) -> tensor<2x2x3xf32>
  check.expect_eq %expected, %p31 : tensor<2x2x3xf32>
  %p32 = stablehlo.dot_general %lmkb, %rkbn, batching_dims = [2] x [1], contracting_dims = [1] x [0] : (tensor<2x2x2xf32>, tensor<2x2x3xf32>) -> tensor<2x2x3xf32>
  check.expect_eq %expected, %p32 : tensor<2x2x3xf32>
  %p33 = stablehlo.dot_general %lmkb, %rknb, batching_dims = [2] x [2], contracting_dims = [1] x [0] : (tensor<2x2x2xf32>, tensor<2x3x2xf32>) -> tensor<2x2x3xf32>
  check.expect_eq %expected, %p33 : tensor<2x2x3xf32>
  %p34 = stablehlo.dot_general %lmkb, %rnbk, batching_dims = [2] x [1], contracting_dims = [1] x [2] : (tensor<2x2x2xf32>, tensor<3x2x2xf32>) -> tensor<2x2x3xf32>
  check.expect_eq %expected, %p34 : tensor<2x2x3xf32>
  %p35 = stablehlo.dot_general %lmkb, %rnkb, batching_dims = [2] x [2], contracting_dims = [1] x [1] : (tensor<2x2x2xf32>, tensor<3x2x2xf32>) -> tensor<2x2x3xf32>
  check.expect_eq %expected, %p35 : tensor<2x2x3xf32>
  %p40 = stablehlo.dot_general %lkbm, %rbkn, batching_dims = [1] x [0], contracting_dims = [0] x [1] : (tensor<2x2x2xf32>, tensor<2x2x3xf32>) -> tensor<2x2x3xf32>
  check.expect_eq %expected, %p40 : tensor<2x2x3xf32>
  %p41 = stablehlo.dot_general %lkbm, %rbnk, batching_dims = [1] x [0], contracting_dims = [0] x [2] : (tensor<2x2x2xf32>, tensor<2x3x2xf32>) -> tensor<2x2x3xf32>
  check.expect_eq %expected, %p41 : tensor<2x2x3xf32>
  %p42 = stablehlo.dot_general %lkbm, %rkbn, batching_dims = [1] x [1], contracting_dims = [0] x [0] : (tensor<2x2x2xf32>, tensor<2x2x3xf32>) -> tensor<2x2x3xf32>
  check.expect_eq %expected, %p42 : tensor<2x2x3xf32>
  %p43 = stablehlo.dot_general %lkbm, %rknb, batching_dims = [1] x [2], contracting_dims = [0] x [0] : (tensor<2x2x2xf32>, tensor<2x3x2xf32>) -> tensor<2x2x3xf32>
  check.expect_eq %expected, %p43 : tensor<2x2x3xf32>
  %p44 = stablehlo.dot_general %lkbm, %rnbk, batching_dims = [1] x [1], contracting_dims = [0] x [2] : (tensor<2x2x2xf32>, tensor<3x2x2xf32>) -> tensor<2x2x3xf32>
  check.expect_eq %expected, %p44 : tensor<2x2x3xf32>
  %p45 = stablehlo.dot_general %lkbm, %rnkb, batching_dims = [1] x [2], contracting_dims = [0] x [1] : (tensor<2x2x2xf32>, tensor<3x2x2xf32>) -> tensor<2x2x3xf32>
  check.expect_eq %expected, %p45 : tensor<2x2x3xf32>
  %p50 = stablehlo.dot_general %lkmb, %rbkn, batching_dims = [2] x [0], contracting_dims = [0] x [1] : (tensor<2x2x2xf32>, tensor<2x2x3xf32>) -> tensor<2x2x3xf32>
  check.expect_eq %expected, %p50 : tensor<2x2x3xf32>
  %p51 = stablehlo.dot_general %lkmb, %rbnk, batching_dims = [2] x [0], contracting_dims = [0] x [2] : (tensor<2x2x2xf32>, tensor<2x3x2xf32>) -> tensor<2x2x3xf32>
  check.expect_eq %expected, %p51 : tensor<2x2x3xf32>
  %p52 = stablehlo.dot_general %lkmb, %rkbn, batching_dims = [2] x [1], contracting_dims = [0] x [0] : (tensor<2x2x2xf32>, tensor<2x2x3xf32>) -> tensor<2x2x3xf32>
  check.expect_eq %expected, %p52 : tensor<2x2x3xf32>
  %p53 = stablehlo.dot_general %lkmb, %rknb, batching_dims = [2] x [2], contracting_dims = [0] x [0] : (tensor<2x2x2xf32>, tensor<2x3x2xf32>) -> tensor<2x2x3xf32>
  check.expect_eq %expected, %p53 : tensor<2x2x3xf32>
  %p54 = stablehlo.dot_general %lkmb, %rnbk, batching_dims = [2] x [1], contracting_dims = [0] x [2] : (tensor<2x2x2xf32>, tensor<3x2x2xf32>) -> tensor<2x2x3xf32>
  check.expect_eq %expected, %p54 : tensor<2x2x3xf32>
  %p55 = stablehlo.dot_general %lkmb, %rnkb, batching_dims = [2] x [2], contracting_dims = [0] x [1] : (tensor<2x2x2xf32>, tensor<3x2x2xf32>) -> tensor<2x2x3xf32>
  check.expect_eq %expected, %p55 : tensor<2x2x3xf32>
  return
}
