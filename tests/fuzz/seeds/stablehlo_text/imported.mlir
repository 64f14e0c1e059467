#lt = #stablehlo<comparison_direction LT>
#loc1 = loc("f.py":1:2)
!pair = tuple<tensor<2xf32>, tuple<tensor<i32>, !stablehlo.token>>
module @imported attributes {mhlo.num_replicas = 1 : i32, a.unit} {
  func.func public @main(%t: !pair {x.y = "z"}, %b: tensor<2xf32> {tf.aliasing_output = 0 : i32}) -> (tensor<2xf32> {jax.result_info = ""}, !pair) {
    %0 = stablehlo.get_tuple_element %t[0] : (!pair) -> tensor<2xf32>
    %1 = "stablehlo.compare"(%0, %b) <{comparison_direction = #lt}> : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1> loc(#loc3)
    %2 = chlo.broadcast_add %0, %b {broadcast_dimensions = array<i64: 0>} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %values, %indices = chlo.top_k(%2, k = 1) : tensor<2xf32> -> (tensor<1xf32>, tensor<1xi32>)
    %3 = stablehlo.einsum %0, %b, config = "a,a->a" : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %4 = stablehlo.dot %0, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>
    check.expect_close %2, %b, max_ulp_difference = 3 : tensor<2xf32>, tensor<2xf32>
    check.expect_eq_const %indices, dense<"0x00000000"> : tensor<1xi32>
    %i = stablehlo.reshape %indices : (tensor<1xi32>) -> tensor<i32>
    %5:2 = "stablehlo.case"(%i) ({
      stablehlo.return %0, %b : tensor<2xf32>, tensor<2xf32>
    }) : (tensor<i32>) -> (tensor<2xf32>, tensor<2xf32>)
    return %3, %t : tensor<2xf32>, !pair
  }
}
#loc3 = loc("jit(f)/lt"(#loc1))
