// An LSTM's step of training: a loop over time that keeps what its gradient needs, the loop back through it, plain
// descent. Expected: finite differences of the loss, in f64.
module @jit_lstm_step {
  func.func public @main() {
    %wx = stablehlo.constant dense<[[0.18, 0.55, -0.32, -0.46, 0.44, 0.35, -0.53, -0.21], [0.58, 0.06, -0.6, 0.09, 0.58, -0.24, -0.52, 0.37], [0.42, -0.48, -0.3, 0.56, 0.15, -0.6, 0.0, 0.59]]> : tensor<3x8xf32>
    %wh = stablehlo.constant dense<[[0.53, 0.2, -0.59, -0.05, 0.6, -0.1, -0.57, 0.25], [0.51, -0.38, -0.41, 0.49, 0.28, -0.56, -0.14, 0.6]]> : tensor<2x8xf32>
    %b = stablehlo.constant dense<[0.55, -0.32, -0.46, 0.44, 0.35, -0.53, -0.21, 0.58]> : tensor<8xf32>
    %x = stablehlo.constant dense<[[[0.08, -0.6, 0.07], [0.58, -0.22, -0.53]], [[-0.45, -0.33, 0.54], [0.19, -0.59, -0.04]], [[-0.58, 0.24, 0.51], [-0.38, -0.42, 0.48]], [[-0.17, 0.59, 0.01], [-0.6, 0.14, 0.56]], [[0.39, 0.4, -0.5], [-0.27, 0.57, 0.12]]]> : tensor<5x2x3xf32>
    %y = stablehlo.constant dense<[[0.25, -0.57], [-0.1, 0.6]]> : tensor<2x2xf32>
    %r:6 = call @step(%wx, %wh, %b, %x, %y) : (tensor<3x8xf32>, tensor<2x8xf32>, tensor<8xf32>, tensor<5x2x3xf32>, tensor<2x2xf32>) -> (tensor<3x8xf32>, tensor<2x8xf32>, tensor<8xf32>, tensor<f32>, tensor<2x2xf32>, tensor<2x2xf32>)
    check.expect_almost_eq_const %r#0, dense<[[0.1796737, 0.5717234, -0.3189723, -0.4488751, 0.4415645, 0.3499615, -0.5278683, -0.1941085], [0.5808173, 0.06418976, -0.5984161, 0.08835744, 0.5886362, -0.2884502, -0.5195114, 0.3618384], [0.4201294, -0.5024887, -0.3014192, 0.5493149, 0.1465216, -0.5879542, -0.002250052, 0.5763092]]> : tensor<3x8xf32>
    check.expect_almost_eq_const %r#1, dense<[[0.5297735, 0.1943464, -0.5903195, -0.05053806, 0.5951883, -0.09404406, -0.5703823, 0.2476948], [0.5102698, -0.3714908, -0.4097808, 0.491902, 0.2831903, -0.5597969, -0.1393273, 0.6066476]]> : tensor<2x8xf32>
    check.expect_almost_eq_const %r#2, dense<[0.545058, -0.3780017, -0.4641477, 0.4292656, 0.3062098, -0.4093003, -0.2167478, 0.5501748]> : tensor<8xf32>
    check.expect_almost_eq_const %r#3, dense<0.6801065> : tensor<f32>
    check.expect_almost_eq_const %r#4, dense<[[0.1625265, -0.1370528], [0.1571782, -0.3274175]]> : tensor<2x2xf32>
    check.expect_almost_eq_const %r#5, dense<[[0.5229797, -0.254205], [0.4068003, -0.5240745]]> : tensor<2x2xf32>
    return
  }
  // The gates of one step, and the new state.
  func.func private @cell(%wx: tensor<3x8xf32>, %wh: tensor<2x8xf32>, %b: tensor<8xf32>, %x: tensor<2x3xf32>, %h: tensor<2x2xf32>, %c: tensor<2x2xf32>) -> (tensor<2x8xf32>, tensor<2x2xf32>, tensor<2x2xf32>) {
    %0 = stablehlo.dot_general %x, %wx, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x8xf32>) -> tensor<2x8xf32>
    %1 = stablehlo.dot_general %h, %wh, contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
    %2 = stablehlo.add %0, %1 : tensor<2x8xf32>
    %3 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<8xf32>) -> tensor<2x8xf32>
    %z = stablehlo.add %2, %3 : tensor<2x8xf32>
    %z0 = stablehlo.slice %z [0:2, 0:4] : (tensor<2x8xf32>) -> tensor<2x4xf32>
    %z1 = stablehlo.slice %z [0:2, 4:6] : (tensor<2x8xf32>) -> tensor<2x2xf32>
    %z2 = stablehlo.slice %z [0:2, 6:8] : (tensor<2x8xf32>) -> tensor<2x2xf32>
    %if = stablehlo.logistic %z0 : tensor<2x4xf32>
    %i = stablehlo.slice %if [0:2, 0:2] : (tensor<2x4xf32>) -> tensor<2x2xf32>
    %f = stablehlo.slice %if [0:2, 2:4] : (tensor<2x4xf32>) -> tensor<2x2xf32>
    %g = stablehlo.tanh %z1 : tensor<2x2xf32>
    %o = stablehlo.logistic %z2 : tensor<2x2xf32>
    %fc = stablehlo.multiply %f, %c : tensor<2x2xf32>
    %ig = stablehlo.multiply %i, %g : tensor<2x2xf32>
    %c2 = stablehlo.add %fc, %ig : tensor<2x2xf32>
    %t = stablehlo.tanh %c2 : tensor<2x2xf32>
    %h2 = stablehlo.multiply %o, %t : tensor<2x2xf32>
    %gates = stablehlo.concatenate %i, %f, %g, %o, dim = 1 : (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x8xf32>
    return %gates, %h2, %c2 : tensor<2x8xf32>, tensor<2x2xf32>, tensor<2x2xf32>
  }
  func.func private @step(%wx: tensor<3x8xf32>, %wh: tensor<2x8xf32>, %b: tensor<8xf32>, %x: tensor<5x2x3xf32>, %y: tensor<2x2xf32>) -> (tensor<3x8xf32>, tensor<2x8xf32>, tensor<8xf32>, tensor<f32>, tensor<2x2xf32>, tensor<2x2xf32>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %five = stablehlo.constant dense<5> : tensor<i32>
    %fzero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %state = stablehlo.constant dense<0.000000e+00> : tensor<2x2xf32>
    %states = stablehlo.constant dense<0.000000e+00> : tensor<5x2x2xf32>
    %gates0 = stablehlo.constant dense<0.000000e+00> : tensor<5x2x8xf32>
    %f:7 = stablehlo.while(%t = %zero, %h = %state, %c = %state, %hs = %states, %cs = %states, %gs = %gates0, %loss = %fzero) : tensor<i32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<5x2x2xf32>, tensor<5x2x2xf32>, tensor<5x2x8xf32>, tensor<f32>
      cond {
        %more = stablehlo.compare LT, %t, %five, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %more : tensor<i1>
      } do {
        %xs = stablehlo.dynamic_slice %x, %t, %zero, %zero, sizes = [1, 2, 3] : (tensor<5x2x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x3xf32>
        %xt = stablehlo.reshape %xs : (tensor<1x2x3xf32>) -> tensor<2x3xf32>
        %n:3 = func.call @cell(%wx, %wh, %b, %xt, %h, %c) : (tensor<3x8xf32>, tensor<2x8xf32>, tensor<8xf32>, tensor<2x3xf32>, tensor<2x2xf32>, tensor<2x2xf32>) -> (tensor<2x8xf32>, tensor<2x2xf32>, tensor<2x2xf32>)
        %h1 = stablehlo.broadcast_in_dim %h, dims = [1, 2] : (tensor<2x2xf32>) -> tensor<1x2x2xf32>
        %hs2 = stablehlo.dynamic_update_slice %hs, %h1, %t, %zero, %zero : (tensor<5x2x2xf32>, tensor<1x2x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<5x2x2xf32>
        %c1 = stablehlo.broadcast_in_dim %c, dims = [1, 2] : (tensor<2x2xf32>) -> tensor<1x2x2xf32>
        %cs2 = stablehlo.dynamic_update_slice %cs, %c1, %t, %zero, %zero : (tensor<5x2x2xf32>, tensor<1x2x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<5x2x2xf32>
        %g1 = stablehlo.broadcast_in_dim %n#0, dims = [1, 2] : (tensor<2x8xf32>) -> tensor<1x2x8xf32>
        %gs2 = stablehlo.dynamic_update_slice %gs, %g1, %t, %zero, %zero : (tensor<5x2x8xf32>, tensor<1x2x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<5x2x8xf32>
        %d = stablehlo.subtract %n#1, %y : tensor<2x2xf32>
        %sq = stablehlo.multiply %d, %d : tensor<2x2xf32>
        %sum = stablehlo.reduce(%sq init: %fzero) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<f32>
        %t2 = stablehlo.add %t, %one : tensor<i32>
        %tf = stablehlo.convert %t2 : (tensor<i32>) -> tensor<f32>
        %scale = stablehlo.constant dense<5.000000e-02> : tensor<f32>
        %weight = stablehlo.multiply %tf, %scale : tensor<f32>
        %part = stablehlo.multiply %weight, %sum : tensor<f32>
        %loss2 = stablehlo.add %loss, %part : tensor<f32>
        stablehlo.return %t2, %n#1, %n#2, %hs2, %cs2, %gs2, %loss2 : tensor<i32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<5x2x2xf32>, tensor<5x2x2xf32>, tensor<5x2x8xf32>, tensor<f32>
      }
    %gwx0 = stablehlo.constant dense<0.000000e+00> : tensor<3x8xf32>
    %gwh0 = stablehlo.constant dense<0.000000e+00> : tensor<2x8xf32>
    %gb0 = stablehlo.constant dense<0.000000e+00> : tensor<8xf32>
    %ones = stablehlo.constant dense<1.000000e+00> : tensor<2x2xf32>
    %r:8 = stablehlo.while(%t = %five, %dh = %state, %dc = %state, %h2 = %f#1, %c2 = %f#2, %gwx = %gwx0, %gwh = %gwh0, %gb = %gb0) : tensor<i32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<3x8xf32>, tensor<2x8xf32>, tensor<8xf32>
      cond {
        %more = stablehlo.compare GT, %t, %zero, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %more : tensor<i1>
      } do {
        %u = stablehlo.subtract %t, %one : tensor<i32>
        %xs = stablehlo.dynamic_slice %x, %u, %zero, %zero, sizes = [1, 2, 3] : (tensor<5x2x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x3xf32>
        %xt = stablehlo.reshape %xs : (tensor<1x2x3xf32>) -> tensor<2x3xf32>
        %h1 = stablehlo.dynamic_slice %f#3, %u, %zero, %zero, sizes = [1, 2, 2] : (tensor<5x2x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x2xf32>
        %h = stablehlo.reshape %h1 : (tensor<1x2x2xf32>) -> tensor<2x2xf32>
        %c1 = stablehlo.dynamic_slice %f#4, %u, %zero, %zero, sizes = [1, 2, 2] : (tensor<5x2x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x2xf32>
        %c = stablehlo.reshape %c1 : (tensor<1x2x2xf32>) -> tensor<2x2xf32>
        %g1 = stablehlo.dynamic_slice %f#5, %u, %zero, %zero, sizes = [1, 2, 8] : (tensor<5x2x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x8xf32>
        %gates = stablehlo.reshape %g1 : (tensor<1x2x8xf32>) -> tensor<2x8xf32>
        %i = stablehlo.slice %gates [0:2, 0:2] : (tensor<2x8xf32>) -> tensor<2x2xf32>
        %fg = stablehlo.slice %gates [0:2, 2:4] : (tensor<2x8xf32>) -> tensor<2x2xf32>
        %g = stablehlo.slice %gates [0:2, 4:6] : (tensor<2x8xf32>) -> tensor<2x2xf32>
        %o = stablehlo.slice %gates [0:2, 6:8] : (tensor<2x8xf32>) -> tensor<2x2xf32>
        // The loss of this step: t/20 of the squared distance.
        %d = stablehlo.subtract %h2, %y : tensor<2x2xf32>
        %tf = stablehlo.convert %t : (tensor<i32>) -> tensor<f32>
        %scale = stablehlo.constant dense<1.000000e-01> : tensor<f32>
        %weight = stablehlo.multiply %tf, %scale : tensor<f32>
        %weights = stablehlo.broadcast_in_dim %weight, dims = [] : (tensor<f32>) -> tensor<2x2xf32>
        %dl = stablehlo.multiply %d, %weights : tensor<2x2xf32>
        %dh2 = stablehlo.add %dh, %dl : tensor<2x2xf32>
        %tc = stablehlo.tanh %c2 : tensor<2x2xf32>
        %do = stablehlo.multiply %dh2, %tc : tensor<2x2xf32>
        %tc2 = stablehlo.multiply %tc, %tc : tensor<2x2xf32>
        %slope = stablehlo.subtract %ones, %tc2 : tensor<2x2xf32>
        %dho = stablehlo.multiply %dh2, %o : tensor<2x2xf32>
        %dct = stablehlo.multiply %dho, %slope : tensor<2x2xf32>
        %dc2 = stablehlo.add %dc, %dct : tensor<2x2xf32>
        %di = stablehlo.multiply %dc2, %g : tensor<2x2xf32>
        %dg = stablehlo.multiply %dc2, %i : tensor<2x2xf32>
        %df = stablehlo.multiply %dc2, %c : tensor<2x2xf32>
        %dcp = stablehlo.multiply %dc2, %fg : tensor<2x2xf32>
        %da = stablehlo.concatenate %di, %df, %dg, %do, dim = 1 : (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x8xf32>
        // s (1 - s) of the gates, 1 - g g of the candidate.
        %all = stablehlo.constant dense<1.000000e+00> : tensor<2x8xf32>
        %rest = stablehlo.subtract %all, %gates : tensor<2x8xf32>
        %ds = stablehlo.multiply %gates, %rest : tensor<2x8xf32>
        %gg = stablehlo.multiply %gates, %gates : tensor<2x8xf32>
        %dt = stablehlo.subtract %all, %gg : tensor<2x8xf32>
        %column = stablehlo.iota dim = 1 : tensor<2x8xi32>
        %half = stablehlo.constant dense<2> : tensor<2x8xi32>
        %which = stablehlo.divide %column, %half : tensor<2x8xi32>
        %is = stablehlo.compare EQ, %which, %half, SIGNED : (tensor<2x8xi32>, tensor<2x8xi32>) -> tensor<2x8xi1>
        %slopes = stablehlo.select %is, %dt, %ds : tensor<2x8xi1>, tensor<2x8xf32>
        %dz = stablehlo.multiply %da, %slopes : tensor<2x8xf32>
        %px = stablehlo.dot_general %xt, %dz, contracting_dims = [0] x [0] : (tensor<2x3xf32>, tensor<2x8xf32>) -> tensor<3x8xf32>
        %ph = stablehlo.dot_general %h, %dz, contracting_dims = [0] x [0] : (tensor<2x2xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
        %pb = stablehlo.reduce(%dz init: %fzero) applies stablehlo.add across dimensions = [0] : (tensor<2x8xf32>, tensor<f32>) -> tensor<8xf32>
        %gwx2 = stablehlo.add %gwx, %px : tensor<3x8xf32>
        %gwh2 = stablehlo.add %gwh, %ph : tensor<2x8xf32>
        %gb2 = stablehlo.add %gb, %pb : tensor<8xf32>
        %dhp = stablehlo.dot_general %dz, %wh, contracting_dims = [1] x [1] : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x2xf32>
        stablehlo.return %u, %dhp, %dcp, %h, %c, %gwx2, %gwh2, %gb2 : tensor<i32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<3x8xf32>, tensor<2x8xf32>, tensor<8xf32>
      }
    %rate = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %rx = stablehlo.broadcast_in_dim %rate, dims = [] : (tensor<f32>) -> tensor<3x8xf32>
    %rh = stablehlo.broadcast_in_dim %rate, dims = [] : (tensor<f32>) -> tensor<2x8xf32>
    %rb = stablehlo.broadcast_in_dim %rate, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %sx = stablehlo.multiply %r#5, %rx : tensor<3x8xf32>
    %sh = stablehlo.multiply %r#6, %rh : tensor<2x8xf32>
    %sb = stablehlo.multiply %r#7, %rb : tensor<8xf32>
    %nwx = stablehlo.subtract %wx, %sx : tensor<3x8xf32>
    %nwh = stablehlo.subtract %wh, %sh : tensor<2x8xf32>
    %nb = stablehlo.subtract %b, %sb : tensor<8xf32>
    return %nwx, %nwh, %nb, %f#6, %f#1, %f#2 : tensor<3x8xf32>, tensor<2x8xf32>, tensor<8xf32>, tensor<f32>, tensor<2x2xf32>, tensor<2x2xf32>
  }
}
