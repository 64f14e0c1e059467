// Rows by number; numbers outside of the range are moved into it.
func.func @main() {
  %x = stablehlo.constant dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi32>
  %i = stablehlo.constant dense<[[2], [-1], [7]]> : tensor<3x1xi64>
  %r = "stablehlo.gather"(%x, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2>} : (tensor<3x2xi32>, tensor<3x1xi64>) -> tensor<3x2xi32>
  check.expect_eq_const %r, dense<[[5, 6], [1, 2], [5, 6]]> : tensor<3x2xi32>
  return
}

// -----

// Updates of one element add up; those outside of the range are left out.
func.func @main() {
  %x = stablehlo.constant dense<[0.0, 0.0, 1.0]> : tensor<3xf32>
  %i = stablehlo.constant dense<[[0], [2], [0], [3]]> : tensor<4x1xi32>
  %u = stablehlo.constant dense<[1.0, 2.0, 4.0, 8.0]> : tensor<4xf32>
  %r = "stablehlo.scatter"(%x, %i, %u) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<3xf32>, tensor<4x1xi32>, tensor<4xf32>) -> tensor<3xf32>
  check.expect_eq_const %r, dense<[5.0, 0.0, 3.0]> : tensor<3xf32>
  return
}

// -----

// Slices that would leave the array begin earlier.
func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %i = stablehlo.constant dense<3> : tensor<i32>
  %slice = stablehlo.dynamic_slice %x, %i, sizes = [2] : (tensor<4xi32>, tensor<i32>) -> tensor<2xi32>
  check.expect_eq_const %slice, dense<[3, 4]> : tensor<2xi32>
  %u = stablehlo.constant dense<[8, 9]> : tensor<2xi32>
  %new = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<4xi32>, tensor<2xi32>, tensor<i32>) -> tensor<4xi32>
  check.expect_eq_const %new, dense<[1, 2, 8, 9]> : tensor<4xi32>
  return
}

// -----

// Padding between elements, and below zero at one end.
func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi16>
  %v = stablehlo.constant dense<9> : tensor<i16>
  %r = stablehlo.pad %x, %v, low = [-1], high = [2], interior = [1] : (tensor<3xi16>, tensor<i16>) -> tensor<6xi16>
  check.expect_eq_const %r, dense<[9, 2, 9, 3, 9, 9]> : tensor<6xi16>
  return
}

// -----

// Moving elements without changing them.
func.func @main() {
  %x = stablehlo.iota dim = 1 : tensor<2x3xi8>
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xi8>) -> tensor<3x2xi8>
  check.expect_eq_const %t, dense<[[0, 0], [1, 1], [2, 2]]> : tensor<3x2xi8>
  %r = stablehlo.reverse %x, dims = [1] : tensor<2x3xi8>
  check.expect_eq_const %r, dense<[[2, 1, 0], [2, 1, 0]]> : tensor<2x3xi8>
  %c = stablehlo.concatenate %x, %r, dim = 0 : (tensor<2x3xi8>, tensor<2x3xi8>) -> tensor<4x3xi8>
  %s = stablehlo.slice %c [1:4:2, 0:3:2] : (tensor<4x3xi8>) -> tensor<2x2xi8>
  check.expect_eq_const %s, dense<[[0, 2], [2, 0]]> : tensor<2x2xi8>
  %f = stablehlo.reshape %s : (tensor<2x2xi8>) -> tensor<4xi8>
  %b = stablehlo.broadcast_in_dim %f, dims = [1] : (tensor<4xi8>) -> tensor<2x4xi8>
  check.expect_eq_const %b, dense<[[0, 2, 2, 0], [0, 2, 2, 0]]> : tensor<2x4xi8>
  return
}

// -----

// The deprecated selection along an axis, of the rows, with batches, and from behind. Expected: by hand.
func.func @main() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %rows = stablehlo.constant dense<[1, 0, 1]> : tensor<3xi64>
  %0 = "stablehlo.torch_index_select"(%x, %rows) {dim = 0 : i64, batch_dims = 0 : i64} : (tensor<2x3xi32>, tensor<3xi64>) -> tensor<3x3xi32>
  check.expect_eq_const %0, dense<[[4, 5, 6], [1, 2, 3], [4, 5, 6]]> : tensor<3x3xi32>
  %own = stablehlo.constant dense<[[2, 0], [1, 1]]> : tensor<2x2xi32>
  %1 = "stablehlo.torch_index_select"(%x, %own) {dim = 1 : i64, batch_dims = 1 : i64} : (tensor<2x3xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  check.expect_eq_const %1, dense<[[3, 1], [5, 5]]> : tensor<2x2xi32>
  %pair = stablehlo.constant dense<[[0, 2]]> : tensor<1x2xi32>
  %2 = "stablehlo.torch_index_select"(%x, %pair) {dim = -1 : i64, batch_dims = 0 : i64} : (tensor<2x3xi32>, tensor<1x2xi32>) -> tensor<2x1x2xi32>
  check.expect_eq_const %2, dense<[[[1, 3]], [[4, 6]]]> : tensor<2x1x2xi32>
  return
}

// -----

// The deprecated einsum of one operand. Expected: by hand.
func.func @main() {
  %x = stablehlo.constant dense<[[[1, 2, 3], [10, 20, 30]], [[4, 5, 6], [40, 50, 60]]]> : tensor<2x2x3xi32>
  %0 = stablehlo.unary_einsum %x, config = "abc->ca" : (tensor<2x2x3xi32>) -> tensor<3x2xi32>
  check.expect_eq_const %0, dense<[[11, 44], [22, 55], [33, 66]]> : tensor<3x2xi32>
  %1 = stablehlo.unary_einsum %x, config = "abc->" : (tensor<2x2x3xi32>) -> tensor<i32>
  check.expect_eq_const %1, dense<231> : tensor<i32>
  %2 = stablehlo.unary_einsum %x, config = "abc->bac" : (tensor<2x2x3xi32>) -> tensor<2x2x3xi32>
  check.expect_eq_const %2, dense<[[[1, 2, 3], [4, 5, 6]], [[10, 20, 30], [40, 50, 60]]]> : tensor<2x2x3xi32>
  return
}
