// The Cholesky factor of a positive definite matrix, and a system solved by it.
func.func @main() {
  %a = stablehlo.constant dense<[[4.0, 2.0], [2.0, 5.0]]> : tensor<2x2xf64>
  %l = stablehlo.cholesky %a, lower = true : tensor<2x2xf64>
  %lower = stablehlo.constant dense<[[true, false], [true, true]]> : tensor<2x2xi1>
  %zero = stablehlo.constant dense<0.0> : tensor<2x2xf64>
  %factor = stablehlo.select %lower, %l, %zero : tensor<2x2xi1>, tensor<2x2xf64>
  check.expect_almost_eq_const %factor, dense<[[2.0, 0.0], [1.0, 2.0]]> : tensor<2x2xf64>
  %b = stablehlo.constant dense<[[2.0], [5.0]]> : tensor<2x1xf64>
  %x = "stablehlo.triangular_solve"(%factor, %b) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<2x2xf64>, tensor<2x1xf64>) -> tensor<2x1xf64>
  check.expect_almost_eq_const %x, dense<[[1.0], [2.0]]> : tensor<2x1xf64>
  return
}
