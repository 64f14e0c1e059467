// The sum of the squares below n, by a loop that carries two values.
func.func @main() {
  %n = stablehlo.constant dense<5> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum:2 = call @squares(%zero, %n) : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  check.expect_eq_const %sum#1, dense<30> : tensor<i32>
  return
}
func.func private @squares(%begin: tensor<i32>, %n: tensor<i32>) -> (tensor<i32>, tensor<i32>) {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:2 = stablehlo.while(%i = %begin, %s = %begin) : tensor<i32>, tensor<i32>
    cond {
      %more = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %square = stablehlo.multiply %i, %i : tensor<i32>
      %next = stablehlo.add %s, %square : tensor<i32>
      %i1 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %i1, %next : tensor<i32>, tensor<i32>
    }
  return %r#0, %r#1 : tensor<i32>, tensor<i32>
}

// -----

// A loop inside a loop, which swap what they carry; the inner one runs i times.
func.func @main() {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %four = stablehlo.constant dense<4> : tensor<i64>
  %a = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = stablehlo.constant dense<[10.0, 20.0]> : tensor<2xf32>
  %r:3 = stablehlo.while(%i = %zero, %x = %a, %y = %b) : tensor<i64>, tensor<2xf32>, tensor<2xf32>
    cond {
      %more = stablehlo.compare LT, %i, %four : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %inner:2 = stablehlo.while(%j = %zero, %z = %x) : tensor<i64>, tensor<2xf32>
        cond {
          %more = stablehlo.compare LT, %j, %i : (tensor<i64>, tensor<i64>) -> tensor<i1>
          stablehlo.return %more : tensor<i1>
        } do {
          %sum = stablehlo.add %z, %a : tensor<2xf32>
          %j1 = stablehlo.add %j, %one : tensor<i64>
          stablehlo.return %j1, %sum : tensor<i64>, tensor<2xf32>
        }
      %i1 = stablehlo.add %i, %one : tensor<i64>
      stablehlo.return %i1, %y, %inner#1 : tensor<i64>, tensor<2xf32>, tensor<2xf32>
    }
  check.expect_eq_const %r#1, dense<[3.0, 6.0]> : tensor<2xf32>
  check.expect_eq_const %r#2, dense<[14.0, 28.0]> : tensor<2xf32>
  return
}

// -----

// A loop that never runs returns what it was given.
func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %no = stablehlo.constant dense<false> : tensor<i1>
  %r = stablehlo.while(%y = %x) : tensor<3xi32>
    cond {
      stablehlo.return %no : tensor<i1>
    } do {
      %twice = stablehlo.add %y, %y : tensor<3xi32>
      stablehlo.return %twice : tensor<3xi32>
    }
  check.expect_eq_const %r, dense<[1, 2, 3]> : tensor<3xi32>
  return
}

// -----

// Branches see the values around them; a case outside of the range takes the last one.
func.func @main() {
  %p = stablehlo.constant dense<true> : tensor<i1>
  %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %if:2 = "stablehlo.if"(%p) ({
    %y = stablehlo.negate %x : tensor<2xf32>
    stablehlo.return %y, %x : tensor<2xf32>, tensor<2xf32>
  }, {
    stablehlo.return %x, %x : tensor<2xf32>, tensor<2xf32>
  }) : (tensor<i1>) -> (tensor<2xf32>, tensor<2xf32>)
  check.expect_eq_const %if#0, dense<[-1.0, -2.0]> : tensor<2xf32>
  check.expect_eq_const %if#1, dense<[1.0, 2.0]> : tensor<2xf32>
  %minus = stablehlo.constant dense<-1> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %case = "stablehlo.case"(%minus) ({
    stablehlo.return %x : tensor<2xf32>
  }, {
    %y = stablehlo.multiply %x, %x : tensor<2xf32>
    stablehlo.return %y : tensor<2xf32>
  }) : (tensor<i32>) -> tensor<2xf32>
  check.expect_eq_const %case, dense<[1.0, 4.0]> : tensor<2xf32>
  %first = "stablehlo.case"(%zero) ({
    stablehlo.return %x : tensor<2xf32>
  }, {
    stablehlo.return %case : tensor<2xf32>
  }) : (tensor<i32>) -> tensor<2xf32>
  check.expect_eq_const %first, dense<[1.0, 2.0]> : tensor<2xf32>
  return
}

// -----

// A loop of a dozen states that move on by one place at every turn, of several types. Expected: by hand.
func.func @main() {
  %s0 = stablehlo.constant dense<[0.0, 0.0]> : tensor<2xf32>
  %s1 = stablehlo.constant dense<[1.0, 1.0]> : tensor<2xf32>
  %s2 = stablehlo.constant dense<[2.0, 4.0]> : tensor<2xf32>
  %s3 = stablehlo.constant dense<[3.0, 9.0]> : tensor<2xf32>
  %s4 = stablehlo.constant dense<[4.0, 16.0]> : tensor<2xf32>
  %s5 = stablehlo.constant dense<[5.0, 25.0]> : tensor<2xf32>
  %s6 = stablehlo.constant dense<[6.0, 36.0]> : tensor<2xf32>
  %s7 = stablehlo.constant dense<[7.0, 49.0]> : tensor<2xf32>
  %s8 = stablehlo.constant dense<[8.0, 64.0]> : tensor<2xf32>
  %s9 = stablehlo.constant dense<[9.0, 81.0]> : tensor<2xf32>
  %s10 = stablehlo.constant dense<[10.0, 100.0]> : tensor<2xf32>
  %s11 = stablehlo.constant dense<[11.0, 121.0]> : tensor<2xf32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %even = stablehlo.constant dense<true> : tensor<i1>
  %bits = stablehlo.constant dense<1> : tensor<ui64>
  %r:15 = stablehlo.while(%i = %zero, %p = %even, %w = %bits, %a0 = %s0, %a1 = %s1, %a2 = %s2, %a3 = %s3, %a4 = %s4, %a5 = %s5, %a6 = %s6, %a7 = %s7, %a8 = %s8, %a9 = %s9, %a10 = %s10, %a11 = %s11) : tensor<i32>, tensor<i1>, tensor<ui64>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
    cond {
      %turns = stablehlo.constant dense<29> : tensor<i32>
      %more = stablehlo.compare LT, %i, %turns, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %i2 = stablehlo.add %i, %one : tensor<i32>
      %p2 = stablehlo.not %p : tensor<i1>
      %w2 = stablehlo.add %w, %w : tensor<ui64>
      %half = stablehlo.constant dense<0.5> : tensor<2xf32>
      %last = stablehlo.add %a11, %half : tensor<2xf32>
      stablehlo.return %i2, %p2, %w2, %last, %a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8, %a9, %a10 : tensor<i32>, tensor<i1>, tensor<ui64>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
    }
  check.expect_eq_const %r#0, dense<29> : tensor<i32>
  check.expect_eq_const %r#1, dense<false> : tensor<i1>
  check.expect_eq_const %r#2, dense<536870912> : tensor<ui64>
  check.expect_eq_const %r#3, dense<[8.5, 50.5]> : tensor<2xf32>
  check.expect_eq_const %r#4, dense<[9.5, 65.5]> : tensor<2xf32>
  check.expect_eq_const %r#5, dense<[10.5, 82.5]> : tensor<2xf32>
  check.expect_eq_const %r#6, dense<[11.5, 101.5]> : tensor<2xf32>
  check.expect_eq_const %r#7, dense<[12.5, 122.5]> : tensor<2xf32>
  check.expect_eq_const %r#8, dense<[1.0, 1.0]> : tensor<2xf32>
  check.expect_eq_const %r#9, dense<[2.0, 2.0]> : tensor<2xf32>
  check.expect_eq_const %r#10, dense<[3.0, 5.0]> : tensor<2xf32>
  check.expect_eq_const %r#11, dense<[4.0, 10.0]> : tensor<2xf32>
  check.expect_eq_const %r#12, dense<[5.0, 17.0]> : tensor<2xf32>
  check.expect_eq_const %r#13, dense<[6.0, 26.0]> : tensor<2xf32>
  check.expect_eq_const %r#14, dense<[7.0, 37.0]> : tensor<2xf32>
  return
}

// -----

// Ties: equal keys keep their order also where the order is made by two keys, and zeros of both signs are equal.
func.func @main() {
  %k = stablehlo.constant dense<[[2.0, 0.0, -0.0, 2.0, 0.0, 1.0], [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]]> : tensor<2x6xf32>
  %l = stablehlo.constant dense<[[1, 0, 0, 0, 1, 5], [3, 2, 3, 1, 1, 1]]> : tensor<2x6xi32>
  %v = stablehlo.iota dim = 1 : tensor<2x6xi32>
  %s:3 = "stablehlo.sort"(%k, %l, %v) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>, %e: tensor<i32>, %f: tensor<i32>):
    %less = stablehlo.compare LT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %same = stablehlo.compare EQ, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %greater = stablehlo.compare GT, %c, %d, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %both = stablehlo.and %same, %greater : tensor<i1>
    %first = stablehlo.or %less, %both : tensor<i1>
    stablehlo.return %first : tensor<i1>
  }) {dimension = 1 : i64, is_stable = true} : (tensor<2x6xf32>, tensor<2x6xi32>, tensor<2x6xi32>) -> (tensor<2x6xf32>, tensor<2x6xi32>, tensor<2x6xi32>)
  check.expect_eq_const %s#1, dense<[[1, 0, 0, 5, 1, 0], [1, 1, 1, 3, 3, 2]]> : tensor<2x6xi32>
  check.expect_eq_const %s#2, dense<[[4, 1, 2, 5, 0, 3], [3, 4, 5, 0, 2, 1]]> : tensor<2x6xi32>
  return
}

// -----

// A composite is its decomposition, also inside of a loop.
func.func @main() {
  %x = stablehlo.constant dense<[1.0, -2.0]> : tensor<2xf32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<2xf32>
    cond {
      %n = stablehlo.constant dense<3> : tensor<i32>
      %more = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %i2 = stablehlo.add %i, %one : tensor<i32>
      %v2:2 = stablehlo.composite "own.square_and_sum" %v {composite_attributes = {scale = 1.000000e+00 : f32}, decomposition = @square_and_sum, version = 1 : i32} : (tensor<2xf32>) -> (tensor<2xf32>, tensor<f32>)
      %b = stablehlo.broadcast_in_dim %v2#1, dims = [] : (tensor<f32>) -> tensor<2xf32>
      %next = stablehlo.subtract %v2#0, %b : tensor<2xf32>
      stablehlo.return %i2, %next : tensor<i32>, tensor<2xf32>
    }
  check.expect_eq_const %r#1, dense<[-256.0, -1.0]> : tensor<2xf32>
  return
}
func.func private @square_and_sum(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.multiply %x, %x : tensor<2xf32>
  %t = stablehlo.reduce(%s init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
  return %s, %t : tensor<2xf32>, tensor<f32>
}
