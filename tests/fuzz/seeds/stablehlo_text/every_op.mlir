module @every_opcode {
  func.func private @twice(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = "stablehlo.add"(%arg0, %arg0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%0) : (tensor<4xf32>) -> ()
  }
  func.func public @main(%arg0: tensor<4xf32> {tf.aliasing_output = 1 : i32}, %arg1: tensor<2x3xf32>, %arg2: tensor<i32>, %arg3: tensor<2xui64>, %arg4: tensor<i1>) -> (tensor<f32>, tensor<4xf32>) {
    %0 = "func.call"(%arg0) {callee = @twice} : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "stablehlo.constant"() {value = dense<[[1.5, -0.0, 1.0e+30], [0x7FC00000, 0xFF800000, 0.1]]> : tensor<2x3xf32>} : () -> tensor<2x3xf32>
    %2 = "stablehlo.iota"() {iota_dimension = 1 : i64} : () -> tensor<2x3xi32>
    %3 = "stablehlo.convert"(%2) : (tensor<2x3xi32>) -> tensor<2x3xbf16>
    %4 = "stablehlo.reduce_precision"(%arg1) {exponent_bits = 5 : i32, mantissa_bits = 10 : i32} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %5 = "stablehlo.compare"(%arg1, %1) {comparison_direction = #stablehlo<comparison_direction LE>, compare_type = #stablehlo<comparison_type TOTALORDER>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
    %6 = "stablehlo.select"(%5, %arg1, %1) : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %7 = "stablehlo.is_finite"(%6) : (tensor<2x3xf32>) -> tensor<2x3xi1>
    %8 = "stablehlo.clamp"(%1, %6, %1) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %9 = "stablehlo.bitcast_convert"(%8) : (tensor<2x3xf32>) -> tensor<2x3xui32>
    %10 = "stablehlo.broadcast_in_dim"(%arg0) {broadcast_dimensions = array<i64: 1>} : (tensor<4xf32>) -> tensor<2x4xf32>
    %11 = "stablehlo.concatenate"(%arg1, %10) {dimension = 1 : i64} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<2x7xf32>
    %12 = "stablehlo.dynamic_slice"(%11, %arg2, %arg2) {slice_sizes = array<i64: 1, 2>} : (tensor<2x7xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
    %13 = "stablehlo.dynamic_update_slice"(%11, %12, %arg2, %arg2) : (tensor<2x7xf32>, tensor<1x2xf32>, tensor<i32>, tensor<i32>) -> tensor<2x7xf32>
    %14 = "stablehlo.constant"() {value = dense<[[0], [1]]> : tensor<2x1xi32>} : () -> tensor<2x1xi32>
    %15 = "stablehlo.gather"(%13, %14) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 7>, indices_are_sorted = true} : (tensor<2x7xf32>, tensor<2x1xi32>) -> tensor<2x7xf32>
    %16 = "stablehlo.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
    %17 = "stablehlo.pad"(%arg1, %16) {edge_padding_low = array<i64: -1, 0>, edge_padding_high = array<i64: 2, 0>, interior_padding = array<i64: 1, 0>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<4x3xf32>
    %18 = "stablehlo.reshape"(%17) : (tensor<4x3xf32>) -> tensor<1x2x2x3xf32>
    %19 = "stablehlo.reverse"(%18) {dimensions = array<i64: 1, 2>} : (tensor<1x2x2x3xf32>) -> tensor<1x2x2x3xf32>
    %20 = "stablehlo.slice"(%19) {start_indices = array<i64: 0, 0, 0, 0>, limit_indices = array<i64: 1, 1, 2, 3>, strides = array<i64: 1, 1, 1, 2>} : (tensor<1x2x2x3xf32>) -> tensor<1x1x2x2xf32>
    %21 = "stablehlo.transpose"(%20) {permutation = array<i64: 0, 2, 3, 1>} : (tensor<1x1x2x2xf32>) -> tensor<1x2x2x1xf32>
    %22 = "stablehlo.reduce"(%21, %16) ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %23 = "stablehlo.add"(%arg5, %arg6) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%23) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 0, 3>} : (tensor<1x2x2x1xf32>, tensor<f32>) -> tensor<2x2xf32>
    %24 = "stablehlo.reduce_window"(%22, %16) ({
    ^bb0(%arg7: tensor<f32>, %arg8: tensor<f32>):
      %25 = "stablehlo.maximum"(%arg7, %arg8) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%25) : (tensor<f32>) -> ()
    }) {window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 1, 2>, base_dilations = array<i64: 2, 1>, padding = dense<[[1, 1], [0, 1]]> : tensor<2x2xi64>} : (tensor<2x2xf32>, tensor<f32>) -> tensor<4x2xf32>
    %26 = "stablehlo.scatter"(%24, %14, %22) ({
    ^bb0(%arg9: tensor<f32>, %arg10: tensor<f32>):
      "stablehlo.return"(%arg10) : (tensor<f32>) -> ()
    }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true} : (tensor<4x2xf32>, tensor<2x1xi32>, tensor<2x2xf32>) -> tensor<4x2xf32>
    %27 = "stablehlo.select_and_scatter"(%26, %22, %16) ({
    ^bb0(%arg11: tensor<f32>, %arg12: tensor<f32>):
      %28 = "stablehlo.compare"(%arg11, %arg12) {comparison_direction = #stablehlo<comparison_direction GE>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%28) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg13: tensor<f32>, %arg14: tensor<f32>):
      %29 = "stablehlo.add"(%arg13, %arg14) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%29) : (tensor<f32>) -> ()
    }) {window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 2, 1>, padding = dense<0> : tensor<2x2xi64>} : (tensor<4x2xf32>, tensor<2x2xf32>, tensor<f32>) -> tensor<4x2xf32>
    %30 = "stablehlo.iota"() {iota_dimension = 0 : i64} : () -> tensor<4x2xi32>
    %31:2 = "stablehlo.sort"(%27, %30) ({
    ^bb0(%arg15: tensor<f32>, %arg16: tensor<f32>, %arg17: tensor<i32>, %arg18: tensor<i32>):
      %32 = "stablehlo.compare"(%arg15, %arg16) {comparison_direction = #stablehlo<comparison_direction GT>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%32) : (tensor<i1>) -> ()
    }) {dimension = 0 : i64, is_stable = true} : (tensor<4x2xf32>, tensor<4x2xi32>) -> (tensor<4x2xf32>, tensor<4x2xi32>)
    %33 = "stablehlo.dot_general"(%31#0, %22) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
    %34 = "stablehlo.convolution"(%21, %21) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[i, 0, 1, o]->[b, 0, 1, f]>, window_strides = array<i64: 1, 2>, padding = dense<[[1, 0], [0, 1]]> : tensor<2x2xi64>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 2>, window_reversal = array<i1: false, true>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x2x2x1xf32>, tensor<1x2x2x1xf32>) -> tensor<1x2x1x1xf32>
    %35 = "stablehlo.case"(%arg2) ({
      "stablehlo.return"(%16) : (tensor<f32>) -> ()
    }, {
      %36 = "stablehlo.negate"(%16) : (tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%36) : (tensor<f32>) -> ()
    }) : (tensor<i32>) -> tensor<f32>
    %37 = "stablehlo.if"(%arg4) ({
      "stablehlo.return"(%35) : (tensor<f32>) -> ()
    }, {
      "stablehlo.return"(%16) : (tensor<f32>) -> ()
    }) : (tensor<i1>) -> tensor<f32>
    %38:2 = "stablehlo.optimization_barrier"(%37, %0) : (tensor<f32>, tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>)
    %39:2 = "stablehlo.while"(%arg2, %38#1) ({
    ^bb0(%arg19: tensor<i32>, %arg20: tensor<4xf32>):
      %40 = "stablehlo.compare"(%arg19, %arg2) {comparison_direction = #stablehlo<comparison_direction NE>, compare_type = #stablehlo<comparison_type SIGNED>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%40) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg21: tensor<i32>, %arg22: tensor<4xf32>):
      "stablehlo.return"(%arg21, %arg22) : (tensor<i32>, tensor<4xf32>) -> ()
    }) : (tensor<i32>, tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>)
    %41:2 = "stablehlo.rng_bit_generator"(%arg3) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xf32>)
    %42 = "systole.fusion"(%39#1, %41#1) ({
    ^bb0(%arg23: tensor<4xf32>, %arg24: tensor<4xf32>):
      %43 = "stablehlo.multiply"(%arg23, %arg24) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      "stablehlo.return"(%43) : (tensor<4xf32>) -> ()
    }) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%38#0, %42) : (tensor<f32>, tensor<4xf32>) -> ()
  }
}
