// A step of training as JAX exports one: embedding, dense layer, relu with its custom gradient, softmax cross entropy,
// gradients clipped by their global norm, momentum for the embedding. Expected: the same sums by hand, in f64.
module @jit_train_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["data"=1, "model"=1]>
  func.func public @main() {
    %in:4 = call @inputs() : () -> (tensor<5x3xf32>, tensor<3x4xf32>, tensor<4x3xf32>, tensor<5x3xf32>)
    %ids = stablehlo.constant dense<[1, 3, 1, 4]> : tensor<4xi32>
    %labels = stablehlo.constant dense<[0, 2, 1, 2]> : tensor<4xi32>
    %r:5 = call @step(%in#0, %in#1, %in#2, %in#3, %ids, %labels) : (tensor<5x3xf32>, tensor<3x4xf32>, tensor<4x3xf32>, tensor<5x3xf32>, tensor<4xi32>, tensor<4xi32>) -> (tensor<5x3xf32>, tensor<3x4xf32>, tensor<4x3xf32>, tensor<5x3xf32>, tensor<f32>)
    check.expect_almost_eq_const %r#0, dense<[[0.252, 0.2685, 0.033], [-0.2580727, -0.33338, -0.04066777], [0.188, 0.2835, 0.106], [-0.1551569, -0.2606243, -0.2525744], [0.1342553, 0.2669748, 0.1480102]]> : tensor<5x3xf32>
    check.expect_almost_eq_const %r#1, dense<[[0.7965187, 0.4331581, -0.3330817, -0.802251], [-0.3394072, -0.7868673, -0.5171597, 0.2094481], [-0.5264385, 0.2313862, 0.7743911, 0.594288]]> : tensor<3x4xf32>
    check.expect_almost_eq_const %r#2, dense<[[0.4296119, -0.8990763, 0.3184644], [0.8962516, -0.4315249, -0.5367267], [0.5391103, 0.4322961, -0.8994065], [-0.3168424, 0.897231, -0.4293886]]> : tensor<4x3xf32>
    check.expect_almost_eq_const %r#3, dense<[[0.0, 0.009, 0.018], [0.06214534, 0.09076006, -0.08666447], [0.018, 0.027, 0.036], [-0.01568611, -0.07875139, 0.1831487], [-0.01651058, 0.06005038, 0.09397964]]> : tensor<5x3xf32>
    check.expect_almost_eq_const %r#4, dense<1.091553> : tensor<f32>
    return
  }
  func.func private @inputs() -> (tensor<5x3xf32>, tensor<3x4xf32>, tensor<4x3xf32>, tensor<5x3xf32>) {
    %0 = stablehlo.constant dense<[[0.252, 0.273, 0.042], [-0.227, -0.288, -0.084], [0.197, 0.297, 0.124], [-0.163, -0.3, -0.161], [0.126, 0.297, 0.195]]> : tensor<5x3xf32>
    %1 = stablehlo.constant dense<[[0.8, 0.432, -0.333, -0.792], [-0.333, -0.792, -0.523, 0.227], [-0.523, 0.227, 0.768, 0.603]]> : tensor<3x4xf32>
    %2 = stablehlo.constant dense<[[0.431, -0.898, 0.316], [0.898, -0.431, -0.539], [0.539, 0.431, -0.898], [-0.316, 0.898, -0.431]]> : tensor<4x3xf32>
    %3 = stablehlo.constant dense<[[0.0, 0.01, 0.02], [0.01, 0.02, 0.03], [0.02, 0.03, 0.04], [0.03, 0.04, 0.05], [0.04, 0.05, 0.06]]> : tensor<5x3xf32>
    return %0, %1, %2, %3 : tensor<5x3xf32>, tensor<3x4xf32>, tensor<4x3xf32>, tensor<5x3xf32>
  }
  func.func private @step(%table: tensor<5x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>}, %w1: tensor<3x4xf32>, %w2: tensor<4x3xf32>, %momentum: tensor<5x3xf32>, %ids: tensor<4xi32>, %labels: tensor<4xi32>) -> (tensor<5x3xf32> {jax.result_info = "[0]['table']"}, tensor<3x4xf32>, tensor<4x3xf32>, tensor<5x3xf32>, tensor<f32>) {
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %ninf = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %i = stablehlo.reshape %ids : (tensor<4xi32>) -> tensor<4x1xi32>
    %x0 = "stablehlo.gather"(%table, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 3>}> : (tensor<5x3xf32>, tensor<4x1xi32>) -> tensor<4x3xf32>
    %x = sdy.sharding_constraint %x0 <@mesh, [{"data"}, {}]> : tensor<4x3xf32>
    %h = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x3xf32>, tensor<3x4xf32>) -> tensor<4x4xf32>
    %a = call @relu(%h) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %z = stablehlo.dot_general %a, %w2, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x4xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
    %top = stablehlo.reduce(%z init: %ninf) applies stablehlo.maximum across dimensions = [1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>
    %topb = stablehlo.broadcast_in_dim %top, dims = [0] : (tensor<4xf32>) -> tensor<4x3xf32>
    %s = stablehlo.subtract %z, %topb : tensor<4x3xf32>
    %e = stablehlo.exponential %s : tensor<4x3xf32>
    %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>
    %log = stablehlo.log %sum : tensor<4xf32>
    %logb = stablehlo.broadcast_in_dim %log, dims = [0] : (tensor<4xf32>) -> tensor<4x3xf32>
    %logp = stablehlo.subtract %s, %logb : tensor<4x3xf32>
    %classes = stablehlo.iota dim = 1 : tensor<4x3xi32>
    %labelsb = stablehlo.broadcast_in_dim %labels, dims = [0] : (tensor<4xi32>) -> tensor<4x3xi32>
    %hot = stablehlo.compare EQ, %labelsb, %classes, SIGNED : (tensor<4x3xi32>, tensor<4x3xi32>) -> tensor<4x3xi1>
    %onehot = stablehlo.convert %hot : (tensor<4x3xi1>) -> tensor<4x3xf32>
    %picked = stablehlo.multiply %onehot, %logp : tensor<4x3xf32>
    %total = stablehlo.reduce(%picked init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<f32>
    %minus_n = stablehlo.constant dense<-4.000000e+00> : tensor<f32>
    %loss = stablehlo.divide %total, %minus_n : tensor<f32>

    %p = stablehlo.exponential %logp : tensor<4x3xf32>
    %d = stablehlo.subtract %p, %onehot : tensor<4x3xf32>
    %n = stablehlo.constant dense<4.000000e+00> : tensor<4x3xf32>
    %dz = stablehlo.divide %d, %n : tensor<4x3xf32>
    %dw2 = stablehlo.dot_general %a, %dz, contracting_dims = [0] x [0] : (tensor<4x4xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
    %da = stablehlo.dot_general %dz, %w2, contracting_dims = [1] x [1] : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x4xf32>
    %zeros = stablehlo.constant dense<0.000000e+00> : tensor<4x4xf32>
    %positive = stablehlo.compare GT, %h, %zeros, FLOAT : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xi1>
    %dh = stablehlo.select %positive, %da, %zeros : tensor<4x4xi1>, tensor<4x4xf32>
    %dw1 = stablehlo.dot_general %x, %dh, contracting_dims = [0] x [0] : (tensor<4x3xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>
    %dx = stablehlo.dot_general %dh, %w1, contracting_dims = [1] x [1] : (tensor<4x4xf32>, tensor<3x4xf32>) -> tensor<4x3xf32>
    %none = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<5x3xf32>
    %dtable0 = "stablehlo.scatter"(%none, %i, %dx) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%l: tensor<f32>, %u: tensor<f32>):
      %v = stablehlo.add %l, %u : tensor<f32>
      stablehlo.return %v : tensor<f32>
    }) : (tensor<5x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<5x3xf32>
    %dtable = stablehlo.custom_call @Sharding(%dtable0) {mhlo.sharding = "{replicated}"} : (tensor<5x3xf32>) -> tensor<5x3xf32>

    %q0 = call @square_sum_5x3(%dtable) : (tensor<5x3xf32>) -> tensor<f32>
    %sq1 = stablehlo.multiply %dw1, %dw1 : tensor<3x4xf32>
    %q1 = stablehlo.reduce(%sq1 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x4xf32>, tensor<f32>) -> tensor<f32>
    %sq2 = stablehlo.multiply %dw2, %dw2 : tensor<4x3xf32>
    %q2 = stablehlo.reduce(%sq2 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<f32>
    %q01 = stablehlo.add %q0, %q1 : tensor<f32>
    %q = stablehlo.add %q01, %q2 : tensor<f32>
    %norm = stablehlo.sqrt %q : tensor<f32>
    %most = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %small = stablehlo.compare LT, %norm, %most, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %one = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %ratio = stablehlo.divide %most, %norm : tensor<f32>
    %scale = stablehlo.select %small, %one, %ratio : tensor<i1>, tensor<f32>

    %decay = stablehlo.constant dense<9.000000e-01> : tensor<5x3xf32>
    %rate = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %kept = stablehlo.multiply %decay, %momentum : tensor<5x3xf32>
    %scale5 = stablehlo.broadcast_in_dim %scale, dims = [] : (tensor<f32>) -> tensor<5x3xf32>
    %g0 = stablehlo.multiply %dtable, %scale5 : tensor<5x3xf32>
    %m = stablehlo.add %kept, %g0 : tensor<5x3xf32>
    %rate5 = stablehlo.broadcast_in_dim %rate, dims = [] : (tensor<f32>) -> tensor<5x3xf32>
    %u0 = stablehlo.multiply %rate5, %m : tensor<5x3xf32>
    %table1 = stablehlo.subtract %table, %u0 : tensor<5x3xf32>
    %rs = stablehlo.multiply %rate, %scale : tensor<f32>
    %rs1 = stablehlo.broadcast_in_dim %rs, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
    %u1 = stablehlo.multiply %rs1, %dw1 : tensor<3x4xf32>
    %w11 = stablehlo.subtract %w1, %u1 : tensor<3x4xf32>
    %rs2 = stablehlo.broadcast_in_dim %rs, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
    %u2 = stablehlo.multiply %rs2, %dw2 : tensor<4x3xf32>
    %w21 = stablehlo.subtract %w2, %u2 : tensor<4x3xf32>
    return %table1, %w11, %w21, %m, %loss : tensor<5x3xf32>, tensor<3x4xf32>, tensor<4x3xf32>, tensor<5x3xf32>, tensor<f32>
  }
  func.func private @relu(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<4x4xf32>
    %y = stablehlo.maximum %x, %zeros : tensor<4x4xf32>
    return %y : tensor<4x4xf32>
  }
  func.func private @square_sum_5x3(%x: tensor<5x3xf32>) -> tensor<f32> {
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %q = stablehlo.multiply %x, %x : tensor<5x3xf32>
    %s = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<5x3xf32>, tensor<f32>) -> tensor<f32>
    return %s : tensor<f32>
  }
}

// -----

// An LSTM over three steps by a scan: a while loop that slices its inputs and stacks its outputs. Expected: f64.
func.func @main() {
  %in:3 = call @inputs() : () -> (tensor<3x2xf32>, tensor<4x8xf32>, tensor<8xf32>)
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %state = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<2xf32>
  %stack = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<3x2xf32>
  %r:4 = stablehlo.while(%t = %c0, %h = %state, %c = %state, %hs = %stack) : tensor<i32>, tensor<2xf32>, tensor<2xf32>, tensor<3x2xf32>
    cond {
      %n = stablehlo.constant dense<3> : tensor<i32>
      %more = stablehlo.compare LT, %t, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %first = stablehlo.constant dense<0> : tensor<i32>
      %row = stablehlo.dynamic_slice %in#0, %t, %first, sizes = [1, 2] : (tensor<3x2xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
      %x = stablehlo.reshape %row : (tensor<1x2xf32>) -> tensor<2xf32>
      %xh = stablehlo.concatenate %x, %h, dim = 0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
      %dot = stablehlo.dot_general %xh, %in#1, contracting_dims = [0] x [0] : (tensor<4xf32>, tensor<4x8xf32>) -> tensor<8xf32>
      %g = stablehlo.add %dot, %in#2 : tensor<8xf32>
      %gi = stablehlo.slice %g [0:2] : (tensor<8xf32>) -> tensor<2xf32>
      %gf = stablehlo.slice %g [2:4] : (tensor<8xf32>) -> tensor<2xf32>
      %gc = stablehlo.slice %g [4:6] : (tensor<8xf32>) -> tensor<2xf32>
      %go = stablehlo.slice %g [6:8] : (tensor<8xf32>) -> tensor<2xf32>
      %i = stablehlo.logistic %gi : tensor<2xf32>
      %f = stablehlo.logistic %gf : tensor<2xf32>
      %new = stablehlo.tanh %gc : tensor<2xf32>
      %o = stablehlo.logistic %go : tensor<2xf32>
      %old = stablehlo.multiply %f, %c : tensor<2xf32>
      %in2 = stablehlo.multiply %i, %new : tensor<2xf32>
      %c2 = stablehlo.add %old, %in2 : tensor<2xf32>
      %th = stablehlo.tanh %c2 : tensor<2xf32>
      %h2 = stablehlo.multiply %o, %th : tensor<2xf32>
      %hrow = stablehlo.broadcast_in_dim %h2, dims = [1] : (tensor<2xf32>) -> tensor<1x2xf32>
      %hs2 = stablehlo.dynamic_update_slice %hs, %hrow, %t, %first : (tensor<3x2xf32>, tensor<1x2xf32>, tensor<i32>, tensor<i32>) -> tensor<3x2xf32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %t2 = stablehlo.add %t, %one : tensor<i32>
      stablehlo.return %t2, %h2, %c2, %hs2 : tensor<i32>, tensor<2xf32>, tensor<2xf32>, tensor<3x2xf32>
    }
  check.expect_almost_eq_const %r#3, dense<[[-0.3026208, -0.1879397], [-0.08090447, -0.04615347], [0.02658892, -0.001298887]]> : tensor<3x2xf32>
  check.expect_almost_eq_const %r#2, dense<[0.1003637, -0.007872331]> : tensor<2xf32>
  return
}
func.func private @inputs() -> (tensor<3x2xf32>, tensor<4x8xf32>, tensor<8xf32>) {
  %0 = stablehlo.constant dense<[[0.5, -1.0], [0.25, 0.75], [-0.5, 1.5]]> : tensor<3x2xf32>
  %1 = stablehlo.constant dense<[[0.589, 0.637, 0.099, -0.53, -0.671, -0.196, 0.46, 0.693], [-0.53, -0.671, -0.196, 0.46, 0.693, 0.288, -0.381, -0.7], [0.46, 0.693, 0.288, -0.381, -0.7, -0.376, 0.294, 0.693], [-0.381, -0.7, -0.376, 0.294, 0.693, 0.455, -0.202, -0.673]]> : tensor<4x8xf32>
  %2 = stablehlo.constant dense<[0.1, 0.1, 1.0, 1.0, 0.0, 0.0, -0.2, -0.2]> : tensor<8xf32>
  return %0, %1, %2 : tensor<3x2xf32>, tensor<4x8xf32>, tensor<8xf32>
}

// -----

// Threefry-2x32 as a loop of five groups of rounds whose rotations take turns, and what is made of its bits: uniform
// numbers, a mask of dropout, normal numbers. Expected: the vectors of Random123, and JAX's for the key 42.
func.func @main() {
  %in:2 = call @inputs() : () -> (tensor<2xui32>, tensor<4xf32>)
  %k0 = stablehlo.constant dense<[0, 320440878]> : tensor<2xui32>
  %k1 = stablehlo.constant dense<[0, 57701188]> : tensor<2xui32>
  %x0 = stablehlo.constant dense<[0, 608135816]> : tensor<2xui32>
  %x1 = stablehlo.constant dense<[0, 2242054355]> : tensor<2xui32>
  %v:2 = call @threefry2x32(%k0, %k1, %x0, %x1) : (tensor<2xui32>, tensor<2xui32>, tensor<2xui32>, tensor<2xui32>) -> (tensor<2xui32>, tensor<2xui32>)
  check.expect_eq_const %v#0, dense<[1797259609, 3297917596]> : tensor<2xui32>
  check.expect_eq_const %v#1, dense<[2579123966, 1212020640]> : tensor<2xui32>

  %count = stablehlo.iota dim = 0 : tensor<4xui32>
  %low = stablehlo.slice %count [0:2] : (tensor<4xui32>) -> tensor<2xui32>
  %high = stablehlo.slice %count [2:4] : (tensor<4xui32>) -> tensor<2xui32>
  %ka = stablehlo.slice %in#0 [0:1] : (tensor<2xui32>) -> tensor<1xui32>
  %kb = stablehlo.slice %in#0 [1:2] : (tensor<2xui32>) -> tensor<1xui32>
  %kas = stablehlo.reshape %ka : (tensor<1xui32>) -> tensor<ui32>
  %kbs = stablehlo.reshape %kb : (tensor<1xui32>) -> tensor<ui32>
  %kab = stablehlo.broadcast_in_dim %kas, dims = [] : (tensor<ui32>) -> tensor<2xui32>
  %kbb = stablehlo.broadcast_in_dim %kbs, dims = [] : (tensor<ui32>) -> tensor<2xui32>
  %w:2 = call @threefry2x32(%kab, %kbb, %low, %high) : (tensor<2xui32>, tensor<2xui32>, tensor<2xui32>, tensor<2xui32>) -> (tensor<2xui32>, tensor<2xui32>)
  %bits = stablehlo.concatenate %w#0, %w#1, dim = 0 : (tensor<2xui32>, tensor<2xui32>) -> tensor<4xui32>
  %nine = stablehlo.constant dense<9> : tensor<4xui32>
  %mantissa = stablehlo.shift_right_logical %bits, %nine : tensor<4xui32>
  %exponent = stablehlo.constant dense<1065353216> : tensor<4xui32>
  %number = stablehlo.or %mantissa, %exponent : tensor<4xui32>
  %float = stablehlo.bitcast_convert %number : (tensor<4xui32>) -> tensor<4xf32>
  %ones = stablehlo.constant dense<1.000000e+00> : tensor<4xf32>
  %u = stablehlo.subtract %float, %ones : tensor<4xf32>
  check.expect_eq_const %u, dense<[0.5741443634033203, 0.8566374778747559, 0.059461116790771484, 0.06235551834106445]> : tensor<4xf32>

  %rate = stablehlo.constant dense<7.500000e-01> : tensor<4xf32>
  %keep = stablehlo.compare LT, %u, %rate, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %scaled = stablehlo.divide %in#1, %rate : tensor<4xf32>
  %zeros = stablehlo.constant dense<0.000000e+00> : tensor<4xf32>
  %dropped = stablehlo.select %keep, %scaled, %zeros : tensor<4xi1>, tensor<4xf32>
  check.expect_almost_eq_const %dropped, dense<[1.333333, 0.0, 4.0, 5.333333]> : tensor<4xf32>

  %lowest = stablehlo.constant dense<0xBF7FFFFF> : tensor<4xf32>
  %width = stablehlo.constant dense<2.000000e+00> : tensor<4xf32>
  %wide = stablehlo.multiply %u, %width : tensor<4xf32>
  %open = stablehlo.add %wide, %lowest : tensor<4xf32>
  %inside = stablehlo.maximum %lowest, %open : tensor<4xf32>
  %erf_inv = chlo.erf_inv %inside : tensor<4xf32> -> tensor<4xf32>
  %sqrt2 = stablehlo.constant dense<1.41421354> : tensor<4xf32>
  %normal = stablehlo.multiply %sqrt2, %erf_inv : tensor<4xf32>
  check.expect_almost_eq_const %normal, dense<[0.1869354, 1.065334, -1.559313, -1.535296]> : tensor<4xf32>
  return
}
func.func private @inputs() -> (tensor<2xui32>, tensor<4xf32>) {
  %0 = stablehlo.constant dense<[0, 42]> : tensor<2xui32>
  %1 = stablehlo.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<4xf32>
  return %0, %1 : tensor<2xui32>, tensor<4xf32>
}
func.func private @threefry2x32(%k0: tensor<2xui32>, %k1: tensor<2xui32>, %c0: tensor<2xui32>, %c1: tensor<2xui32>) -> (tensor<2xui32>, tensor<2xui32>) {
  %parity = stablehlo.constant dense<466688986> : tensor<2xui32>
  %k01 = stablehlo.xor %k0, %k1 : tensor<2xui32>
  %k2 = stablehlo.xor %k01, %parity : tensor<2xui32>
  %a = stablehlo.add %c0, %k0 : tensor<2xui32>
  %b = stablehlo.add %c1, %k1 : tensor<2xui32>
  %even = stablehlo.constant dense<[13, 15, 26, 6]> : tensor<4xui32>
  %odd = stablehlo.constant dense<[17, 29, 16, 24]> : tensor<4xui32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:8 = stablehlo.while(%i = %zero, %x = %a, %y = %b, %ka = %k1, %kb = %k2, %kc = %k0, %now = %even, %then = %odd) : tensor<i32>, tensor<2xui32>, tensor<2xui32>, tensor<2xui32>, tensor<2xui32>, tensor<2xui32>, tensor<4xui32>, tensor<4xui32>
    cond {
      %five = stablehlo.constant dense<5> : tensor<i32>
      %more = stablehlo.compare LT, %i, %five, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %s0 = stablehlo.slice %now [0:1] : (tensor<4xui32>) -> tensor<1xui32>
      %s1 = stablehlo.slice %now [1:2] : (tensor<4xui32>) -> tensor<1xui32>
      %s2 = stablehlo.slice %now [2:3] : (tensor<4xui32>) -> tensor<1xui32>
      %s3 = stablehlo.slice %now [3:4] : (tensor<4xui32>) -> tensor<1xui32>
      %p0:2 = func.call @round(%x, %y, %s0) : (tensor<2xui32>, tensor<2xui32>, tensor<1xui32>) -> (tensor<2xui32>, tensor<2xui32>)
      %p1:2 = func.call @round(%p0#0, %p0#1, %s1) : (tensor<2xui32>, tensor<2xui32>, tensor<1xui32>) -> (tensor<2xui32>, tensor<2xui32>)
      %p2:2 = func.call @round(%p1#0, %p1#1, %s2) : (tensor<2xui32>, tensor<2xui32>, tensor<1xui32>) -> (tensor<2xui32>, tensor<2xui32>)
      %p3:2 = func.call @round(%p2#0, %p2#1, %s3) : (tensor<2xui32>, tensor<2xui32>, tensor<1xui32>) -> (tensor<2xui32>, tensor<2xui32>)
      %one = stablehlo.constant dense<1> : tensor<i32>
      %i2 = stablehlo.add %i, %one : tensor<i32>
      %x2 = stablehlo.add %p3#0, %ka : tensor<2xui32>
      %yk = stablehlo.add %p3#1, %kb : tensor<2xui32>
      %iu = stablehlo.convert %i2 : (tensor<i32>) -> tensor<ui32>
      %iub = stablehlo.broadcast_in_dim %iu, dims = [] : (tensor<ui32>) -> tensor<2xui32>
      %y2 = stablehlo.add %yk, %iub : tensor<2xui32>
      stablehlo.return %i2, %x2, %y2, %kb, %kc, %ka, %then, %now : tensor<i32>, tensor<2xui32>, tensor<2xui32>, tensor<2xui32>, tensor<2xui32>, tensor<2xui32>, tensor<4xui32>, tensor<4xui32>
    }
  return %r#1, %r#2 : tensor<2xui32>, tensor<2xui32>
}
func.func private @round(%x: tensor<2xui32>, %y: tensor<2xui32>, %by: tensor<1xui32>) -> (tensor<2xui32>, tensor<2xui32>) {
  %x2 = stablehlo.add %x, %y : tensor<2xui32>
  %by0 = stablehlo.reshape %by : (tensor<1xui32>) -> tensor<ui32>
  %left = stablehlo.broadcast_in_dim %by0, dims = [] : (tensor<ui32>) -> tensor<2xui32>
  %width = stablehlo.constant dense<32> : tensor<2xui32>
  %right = stablehlo.subtract %width, %left : tensor<2xui32>
  %high = stablehlo.shift_left %y, %left : tensor<2xui32>
  %low = stablehlo.shift_right_logical %y, %right : tensor<2xui32>
  %turned = stablehlo.or %high, %low : tensor<2xui32>
  %y2 = stablehlo.xor %x2, %turned : tensor<2xui32>
  return %x2, %y2 : tensor<2xui32>, tensor<2xui32>
}

// -----

// A running sum as a reduce_window, the largest of a row as compilers spell it for readers without CHLO, a branch by
// number, and a loop that Shardy gave to one device.
module {
  sdy.mesh @mesh = <["x"=1]>
  func.func @main() {
    %x = stablehlo.constant dense<[3, 1, 4, 1, 5, 9, 2, 6]> : tensor<8xi32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %sums = "stablehlo.reduce_window"(%x, %zero) <{padding = dense<[[7, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 8>, window_strides = array<i64: 1>}> ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %s = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %s : tensor<i32>
    }) : (tensor<8xi32>, tensor<i32>) -> tensor<8xi32>
    check.expect_eq_const %sums, dense<[3, 4, 8, 9, 14, 23, 25, 31]> : tensor<8xi32>
    %top:2 = stablehlo.custom_call @mhlo.topk(%x) {mhlo.attributes = {k = 3 : i64, largest = true}, mhlo.version = 1 : i64} : (tensor<8xi32>) -> (tensor<3xi32>, tensor<3xi32>)
    check.expect_eq_const %top#0, dense<[9, 6, 5]> : tensor<3xi32>
    check.expect_eq_const %top#1, dense<[5, 7, 4]> : tensor<3xi32>
    %two = stablehlo.constant dense<2> : tensor<i32>
    %chosen = "stablehlo.case"(%two) ({
      stablehlo.return %sums : tensor<8xi32>
    }, {
      stablehlo.return %x : tensor<8xi32>
    }, {
      %d = stablehlo.subtract %sums, %x : tensor<8xi32>
      stablehlo.return %d : tensor<8xi32>
    }) : (tensor<i32>) -> tensor<8xi32>
    check.expect_eq_const %chosen, dense<[0, 3, 4, 8, 9, 14, 23, 25]> : tensor<8xi32>
    %mine = sdy.manual_computation(%chosen) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%part: tensor<8xi32>) {
      %all = "stablehlo.all_reduce"(%part) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %s = stablehlo.add %a, %b : tensor<i32>
        stablehlo.return %s : tensor<i32>
      }) : (tensor<8xi32>) -> tensor<8xi32>
      sdy.return %all : tensor<8xi32>
    } : (tensor<8xi32>) -> tensor<8xi32>
    check.expect_eq_const %mine, dense<[0, 3, 4, 8, 9, 14, 23, 25]> : tensor<8xi32>
    return
  }
}
