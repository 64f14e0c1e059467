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
