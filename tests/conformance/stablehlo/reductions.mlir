// The largest element of each row and where it is: two operands, reduced together.
func.func @main() {
  %x = stablehlo.constant dense<[[1.0, 7.0, 3.0], [4.0, -2.0, 4.0]]> : tensor<2x3xf32>
  %i = stablehlo.iota dim = 1 : tensor<2x3xi32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.reduce(%x init: %low), (%i init: %zero) across dimensions = [1] : (tensor<2x3xf32>, tensor<2x3xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
    reducer(%a: tensor<f32>, %b: tensor<f32>) (%p: tensor<i32>, %q: tensor<i32>) {
      %first = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %value = stablehlo.select %first, %a, %b : tensor<i1>, tensor<f32>
      %place = stablehlo.select %first, %p, %q : tensor<i1>, tensor<i32>
      stablehlo.return %value, %place : tensor<f32>, tensor<i32>
    }
  check.expect_eq_const %r#0, dense<[7.0, 4.0]> : tensor<2xf32>
  check.expect_eq_const %r#1, dense<[1, 0]> : tensor<2xi32>
  return
}

// -----

// Over no elements a reduction is its initial value.
func.func @main() {
  %x = stablehlo.constant dense<> : tensor<2x0xf32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %r = stablehlo.reduce(%x init: %one) applies stablehlo.multiply across dimensions = [1] : (tensor<2x0xf32>, tensor<f32>) -> tensor<2xf32>
  check.expect_eq_const %r, dense<1.0> : tensor<2xf32>
  return
}

// -----

// Windows with strides, padding and holes.
func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3, 4, 5, 6]> : tensor<6xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r = "stablehlo.reduce_window"(%x, %zero) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %c = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %c : tensor<i32>
  }) {window_dimensions = array<i64: 2>, window_strides = array<i64: 2>, window_dilations = array<i64: 3>, padding = dense<[[1, 2]]> : tensor<1x2xi64>} : (tensor<6xi32>, tensor<i32>) -> tensor<3xi32>
  check.expect_eq_const %r, dense<[3, 7, 4]> : tensor<3xi32>
  return
}

// -----

// Running sums: windows as long as the array.
func.func @main() {
  %x = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r = "stablehlo.reduce_window"(%x, %zero) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) {window_dimensions = array<i64: 4>, padding = dense<[[3, 0]]> : tensor<1x2xi64>} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  check.expect_eq_const %r, dense<[1.0, 3.0, 6.0, 10.0]> : tensor<4xf32>
  return
}

// -----

// The gradient of a maximum over windows that overlap.
func.func @main() {
  %x = stablehlo.constant dense<[1.0, 5.0, 2.0, 4.0, 3.0]> : tensor<5xf32>
  %g = stablehlo.constant dense<[10.0, 20.0]> : tensor<2xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r = "stablehlo.select_and_scatter"(%x, %g, %zero) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) {window_dimensions = array<i64: 3>, window_strides = array<i64: 2>} : (tensor<5xf32>, tensor<2xf32>, tensor<f32>) -> tensor<5xf32>
  check.expect_eq_const %r, dense<[0.0, 10.0, 0.0, 20.0, 0.0]> : tensor<5xf32>
  return
}

// -----

// Sorting keys along the first axis carries the values with them; equal keys keep their order.
func.func @main() {
  %k = stablehlo.constant dense<[[3, 1], [1, 2], [3, 0]]> : tensor<3x2xi32>
  %v = stablehlo.constant dense<[[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]> : tensor<3x2xf32>
  %r:2 = "stablehlo.sort"(%k, %v) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %x: tensor<f32>, %y: tensor<f32>):
    %c = stablehlo.compare GT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<3x2xi32>, tensor<3x2xf32>) -> (tensor<3x2xi32>, tensor<3x2xf32>)
  check.expect_eq_const %r#0, dense<[[3, 2], [3, 1], [1, 0]]> : tensor<3x2xi32>
  check.expect_eq_const %r#1, dense<[[0.0, 3.0], [4.0, 1.0], [2.0, 5.0]]> : tensor<3x2xf32>
  return
}
