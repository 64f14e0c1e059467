// Among one process collectives return what they are given.
func.func @main() {
  %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %sum = "stablehlo.all_reduce"(%x) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) {replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<2xf32>) -> tensor<2xf32>
  check.expect_eq_const %sum, dense<[1.0, 2.0]> : tensor<2xf32>
  %all = "stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64, replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<2xf32>) -> tensor<2xf32>
  check.expect_eq_const %all, dense<[1.0, 2.0]> : tensor<2xf32>
  %id = stablehlo.replica_id : tensor<ui32>
  check.expect_eq_const %id, dense<0> : tensor<ui32>
  return
}
