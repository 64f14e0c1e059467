module @every_opcode {
  func.func private @twice(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.add %arg0, %arg0 : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func public @main(%arg0: tensor<4xf32> {tf.aliasing_output = 1 : i32}, %arg1: tensor<2x3xf32>, %arg2: tensor<i32>, %arg3: tensor<2xui64>, %arg4: tensor<i1>) -> (tensor<f32>, tensor<4xf32>) {
    %0 = call @twice(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = stablehlo.constant dense<[[1.5, -0.0, 1.0e+30], [0x7FC00000, 0xFF800000, 0.1]]> : tensor<2x3xf32>
    %2 = stablehlo.iota dim = 1 : tensor<2x3xi32>
    %3 = stablehlo.convert %2 : (tensor<2x3xi32>) -> tensor<2x3xbf16>
    %4 = stablehlo.reduce_precision %arg1, format = e5m10 : tensor<2x3xf32>
    %5 = stablehlo.compare LE, %arg1, %1, TOTALORDER : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
    %6 = stablehlo.select %5, %arg1, %1 : tensor<2x3xi1>, tensor<2x3xf32>
    %7 = stablehlo.is_finite %6 : (tensor<2x3xf32>) -> tensor<2x3xi1>
    %8 = stablehlo.clamp %1, %6, %1 : tensor<2x3xf32>
    %9 = stablehlo.bitcast_convert %8 : (tensor<2x3xf32>) -> tensor<2x3xui32>
    %10 = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<4xf32>) -> tensor<2x4xf32>
    %11 = stablehlo.concatenate %arg1, %10, dim = 1 : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<2x7xf32>
    %12 = stablehlo.dynamic_slice %11, %arg2, %arg2, sizes = [1, 2] : (tensor<2x7xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
    %13 = stablehlo.dynamic_update_slice %11, %12, %arg2, %arg2 : (tensor<2x7xf32>, tensor<1x2xf32>, tensor<i32>, tensor<i32>) -> tensor<2x7xf32>
    %14 = stablehlo.constant dense<[[0], [1]]> : tensor<2x1xi32>
    %15 = "stablehlo.gather"(%13, %14) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 7>, indices_are_sorted = true} : (tensor<2x7xf32>, tensor<2x1xi32>) -> tensor<2x7xf32>
    %16 = stablehlo.constant dense<0.0> : tensor<f32>
    %17 = stablehlo.pad %arg1, %16, low = [-1, 0], high = [2, 0], interior = [1, 0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<4x3xf32>
    %18 = stablehlo.reshape %17 : (tensor<4x3xf32>) -> tensor<1x2x2x3xf32>
    %19 = stablehlo.reverse %18, dims = [1, 2] : tensor<1x2x2x3xf32>
    %20 = stablehlo.slice %19 [0:1, 0:1, 0:2, 0:3:2] : (tensor<1x2x2x3xf32>) -> tensor<1x1x2x2xf32>
    %21 = stablehlo.transpose %20, dims = [0, 2, 3, 1] : (tensor<1x1x2x2xf32>) -> tensor<1x2x2x1xf32>
    %22 = stablehlo.reduce(%21 init: %16) applies stablehlo.add across dimensions = [0, 3] : (tensor<1x2x2x1xf32>, tensor<f32>) -> tensor<2x2xf32>
    %24 = "stablehlo.reduce_window"(%22, %16) ({
    ^bb0(%arg7: tensor<f32>, %arg8: tensor<f32>):
      %25 = stablehlo.maximum %arg7, %arg8 : tensor<f32>
      stablehlo.return %25 : tensor<f32>
    }) {window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 1, 2>, base_dilations = array<i64: 2, 1>, padding = dense<[[1, 1], [0, 1]]> : tensor<2x2xi64>} : (tensor<2x2xf32>, tensor<f32>) -> tensor<4x2xf32>
    %26 = "stablehlo.scatter"(%24, %14, %22) ({
    ^bb0(%arg9: tensor<f32>, %arg10: tensor<f32>):
      stablehlo.return %arg10 : tensor<f32>
    }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true} : (tensor<4x2xf32>, tensor<2x1xi32>, tensor<2x2xf32>) -> tensor<4x2xf32>
    %27 = "stablehlo.select_and_scatter"(%26, %22, %16) ({
    ^bb0(%arg11: tensor<f32>, %arg12: tensor<f32>):
      %28 = stablehlo.compare GE, %arg11, %arg12 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %28 : tensor<i1>
    }, {
    ^bb0(%arg13: tensor<f32>, %arg14: tensor<f32>):
      %29 = stablehlo.add %arg13, %arg14 : tensor<f32>
      stablehlo.return %29 : tensor<f32>
    }) {window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 2, 1>, padding = dense<0> : tensor<2x2xi64>} : (tensor<4x2xf32>, tensor<2x2xf32>, tensor<f32>) -> tensor<4x2xf32>
    %30 = stablehlo.iota dim = 0 : tensor<4x2xi32>
    %31:2 = "stablehlo.sort"(%27, %30) ({
    ^bb0(%arg15: tensor<f32>, %arg16: tensor<f32>, %arg17: tensor<i32>, %arg18: tensor<i32>):
      %32 = stablehlo.compare GT, %arg15, %arg16 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %32 : tensor<i1>
    }) {dimension = 0 : i64, is_stable = true} : (tensor<4x2xf32>, tensor<4x2xi32>) -> (tensor<4x2xf32>, tensor<4x2xi32>)
    %33 = stablehlo.dot_general %31#0, %22, contracting_dims = [1] x [0] : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
    %34 = stablehlo.convolution(%21, %21) dim_numbers = [b, 0, 1, f]x[i, 0, 1, o]->[b, 0, 1, f], window = {stride = [1, 2], pad = [[1, 0], [0, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 2], reverse = [false, true]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x2x2x1xf32>, tensor<1x2x2x1xf32>) -> tensor<1x2x1x1xf32>
    %35 = "stablehlo.case"(%arg2) ({
      stablehlo.return %16 : tensor<f32>
    }, {
      %36 = stablehlo.negate %16 : tensor<f32>
      stablehlo.return %36 : tensor<f32>
    }) : (tensor<i32>) -> tensor<f32>
    %37 = "stablehlo.if"(%arg4) ({
      stablehlo.return %35 : tensor<f32>
    }, {
      stablehlo.return %16 : tensor<f32>
    }) : (tensor<i1>) -> tensor<f32>
    %38:2 = stablehlo.optimization_barrier %37, %0 : tensor<f32>, tensor<4xf32>
    %39:2 = stablehlo.while(%arg19 = %arg2, %arg20 = %38#1) : tensor<i32>, tensor<4xf32>
     cond {
      %40 = stablehlo.compare NE, %arg19, %arg2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %40 : tensor<i1>
    } do {
      stablehlo.return %arg19, %arg20 : tensor<i32>, tensor<4xf32>
    }
    %41:2 = stablehlo.rng_bit_generator %arg3, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xf32>)
    %42 = "systole.fusion"(%39#1, %41#1) ({
    ^bb0(%arg21: tensor<4xf32>, %arg22: tensor<4xf32>):
      %43 = stablehlo.multiply %arg21, %arg22 : tensor<4xf32>
      stablehlo.return %43 : tensor<4xf32>
    }) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %38#0, %42 : tensor<f32>, tensor<4xf32>
  }
  func.func private @same(%arg0: tensor<2xf32>) -> tensor<2xf32> {
    return %arg0 : tensor<2xf32>
  }
  func.func private @others(%arg0: tensor<2x2xf32>, %arg1: tensor<2xf32>) {
    %0 = stablehlo.complex %arg0, %arg0 : tensor<2x2xcomplex<f32>>
    %1 = stablehlo.real %0 : (tensor<2x2xcomplex<f32>>) -> tensor<2x2xf32>
    %2 = stablehlo.imag %0 : (tensor<2x2xcomplex<f32>>) -> tensor<2x2xf32>
    %3 = stablehlo.fft %0, type = IFFT, length = [2, 2] : (tensor<2x2xcomplex<f32>>) -> tensor<2x2xcomplex<f32>>
    %4 = stablehlo.cholesky %arg0, lower = true : tensor<2x2xf32>
    %5 = "stablehlo.triangular_solve"(%arg0, %4) {left_side = true, lower = false, unit_diagonal = false, transpose_a = #stablehlo<transpose ADJOINT>} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %6 = "stablehlo.batch_norm_inference"(%arg0, %arg1, %arg1, %arg1, %arg1) {epsilon = 0.001 : f32, feature_index = 1 : i64} : (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
    %7:3 = "stablehlo.batch_norm_training"(%6, %arg1, %arg1) {epsilon = 1.0e-10 : f32, feature_index = 0 : i64} : (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>)
    %8:3 = "stablehlo.batch_norm_grad"(%6, %7#1, %arg1, %arg1, %7#0) {epsilon = 0x7F800000 : f32, feature_index = 1 : i64} : (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>)
    %9 = "stablehlo.map"(%arg0, %arg0) ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %10 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %10 : tensor<f32>
    }) {dimensions = array<i64: 0, 1>} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %11 = stablehlo.get_dimension_size %arg0, dim = 1 : (tensor<2x2xf32>) -> tensor<i32>
    %12 = stablehlo.composite "my.same" %arg1 {composite_attributes = {n = 1 : i32}, decomposition = @same, version = 2 : i32} : (tensor<2xf32>) -> tensor<2xf32>
    %13 = "stablehlo.all_reduce"(%arg0) ({
    ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
      %14 = stablehlo.add %arg4, %arg5 : tensor<f32>
      stablehlo.return %14 : tensor<f32>
    }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, use_global_device_ids} : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %15 = "stablehlo.all_gather"(%arg0) {all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2x2xf32>) -> tensor<4x2xf32>
    %16 = "stablehlo.all_to_all"(%arg0) {split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2x2xf32>) -> tensor<1x4xf32>
    %17 = "stablehlo.reduce_scatter"(%arg0) ({
    ^bb0(%arg6: tensor<f32>, %arg7: tensor<f32>):
      %18 = stablehlo.add %arg6, %arg7 : tensor<f32>
      stablehlo.return %18 : tensor<f32>
    }) {scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2x2xf32>) -> tensor<1x2xf32>
    %19 = "stablehlo.collective_broadcast"(%arg0) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %20 = "stablehlo.collective_permute"(%arg0) {source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %21 = stablehlo.replica_id : tensor<ui32>
    %22 = stablehlo.partition_id : tensor<ui32>
    %23 = stablehlo.constant dense<2> : tensor<2xi64>
    %24 = stablehlo.constant dense<1.0> : tensor<f32>
    %25 = stablehlo.rng %24, %24, %23, distribution = NORMAL : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<2x2xf32>
    %26 = stablehlo.after_all : !stablehlo.token
    %27:2 = "stablehlo.infeed"(%26) {infeed_config = "x", layout = [[0, 1]]} : (!stablehlo.token) -> (tensor<2x2xf32>, !stablehlo.token)
    %28 = "stablehlo.outfeed"(%27#0, %27#1) {outfeed_config = "y"} : (tensor<2x2xf32>, !stablehlo.token) -> !stablehlo.token
    %29 = "stablehlo.send"(%arg0, %28) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true} : (tensor<2x2xf32>, !stablehlo.token) -> !stablehlo.token
    %30:2 = "stablehlo.recv"(%29) {channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>} : (!stablehlo.token) -> (tensor<2x2xf32>, !stablehlo.token)
    stablehlo.custom_call @f(%30#0) {has_side_effect = true, backend_config = {a = 1 : i32}, api_version = 4 : i32, called_computations = [@same], tolerance = 0.5 : f32} : (tensor<2x2xf32>) -> ()
    return
  }
}
