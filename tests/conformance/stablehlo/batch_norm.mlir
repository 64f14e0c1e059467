// Batch normalisation over the last axis, and its gradient.
func.func @main() {
  %x = stablehlo.constant dense<[[1.0, 2.0], [3.0, 5.0], [2.0, -1.0], [6.0, 4.0]]> : tensor<4x2xf64>
  %scale = stablehlo.constant dense<[1.5, 0.5]> : tensor<2xf64>
  %offset = stablehlo.constant dense<[0.25, -1.0]> : tensor<2xf64>
  %t:3 = "stablehlo.batch_norm_training"(%x, %scale, %offset) {epsilon = 0.5 : f32, feature_index = 1 : i64} : (tensor<4x2xf64>, tensor<2xf64>, tensor<2xf64>) -> (tensor<4x2xf64>, tensor<2xf64>, tensor<2xf64>)
  check.expect_almost_eq_const %t#0, dense<[[-1.25, -1.1042572070285375], [0.25, -0.4787139648573131], [-0.5, -1.7298004491997618], [2.5, -0.6872283789143878]]> : tensor<4x2xf64>
  check.expect_almost_eq_const %t#1, dense<[3.0, 2.5]> : tensor<2xf64>
  check.expect_almost_eq_const %t#2, dense<[3.5, 5.25]> : tensor<2xf64>
  %i = "stablehlo.batch_norm_inference"(%x, %scale, %offset, %t#1, %t#2) {epsilon = 0.5 : f32, feature_index = 1 : i64} : (tensor<4x2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>) -> tensor<4x2xf64>
  check.expect_almost_eq_const %i, dense<[[-1.25, -1.1042572070285375], [0.25, -0.4787139648573131], [-0.5, -1.7298004491997618], [2.5, -0.6872283789143878]]> : tensor<4x2xf64>
  %g = stablehlo.constant dense<[[1.0, -1.0], [0.5, 2.0], [-2.0, 1.0], [1.0, 0.5]]> : tensor<4x2xf64>
  %b:3 = "stablehlo.batch_norm_grad"(%x, %scale, %t#1, %t#2, %g) {epsilon = 0.5 : f32, feature_index = 1 : i64} : (tensor<4x2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<4x2xf64>) -> (tensor<4x2xf64>, tensor<2xf64>, tensor<2xf64>)
  check.expect_almost_eq_const %b#0, dense<[[0.9375, -0.32637038721976924], [0.28125, 0.22437964121359136], [-1.453125, 0.1654516546322441], [0.234375, -0.06346090862606624]]> : tensor<4x2xf64>
  check.expect_almost_eq_const %b#1, dense<[1.5, 1.1468292773139113]> : tensor<2xf64>
  check.expect_almost_eq_const %b#2, dense<[0.5, 2.5]> : tensor<2xf64>
  return
}
