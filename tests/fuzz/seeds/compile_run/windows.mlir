func.func @main(%x: tensor<1x4x4x1xi32>, %i: tensor<2x1xi64>, %f: tensor<2x3xf32>) -> (tensor<1x2x2x1xi32>, tensor<2x3xi32>, tensor<4xi32>, tensor<2x3xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %pool = "stablehlo.reduce_window"(%x, %zero) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %m = stablehlo.maximum %a, %b : tensor<i32>
    stablehlo.return %m : tensor<i32>
  }) {window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>} : (tensor<1x4x4x1xi32>, tensor<i32>) -> tensor<1x2x2x1xi32>
  %table = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6], [7, 8, 9]]> : tensor<3x3xi32>
  %rows = "stablehlo.gather"(%table, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>, indices_are_sorted = false} : (tensor<3x3xi32>, tensor<2x1xi64>) -> tensor<2x3xi32>
  %base = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %u = stablehlo.constant dense<[5, 6]> : tensor<2xi32>
  %scattered = "stablehlo.scatter"(%base, %i, %u) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<4xi32>, tensor<2x1xi64>, tensor<2xi32>) -> tensor<4xi32>
  %e = stablehlo.exponential %f : tensor<2x3xf32>
  return %pool, %rows, %scattered, %e : tensor<1x2x2x1xi32>, tensor<2x3xi32>, tensor<4xi32>, tensor<2x3xf32>
}
