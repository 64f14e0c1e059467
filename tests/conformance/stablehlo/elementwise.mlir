// Zeros of both signs, infinities and NaN (as its bits, since it equals nothing).
func.func @main() {
  %x = stablehlo.constant dense<[-0.0, 0x7FC00000, 0xFF800000, 2.5]> : tensor<4xf32>
  %y = stablehlo.constant dense<[0.0, 1.0, 1.0, -0.5]> : tensor<4xf32>
  %max = stablehlo.maximum %x, %y : tensor<4xf32>
  %max_bits = stablehlo.bitcast_convert %max : (tensor<4xf32>) -> tensor<4xui32>
  check.expect_eq_const %max_bits, dense<[0, 0x7FC00000, 0x3F800000, 0x40200000]> : tensor<4xui32>
  %finite = stablehlo.is_finite %x : (tensor<4xf32>) -> tensor<4xi1>
  check.expect_eq_const %finite, dense<[true, false, false, true]> : tensor<4xi1>
  %even = stablehlo.round_nearest_even %x : tensor<4xf32>
  %away = stablehlo.round_nearest_afz %x : tensor<4xf32>
  %even3 = stablehlo.slice %even [3:4] : (tensor<4xf32>) -> tensor<1xf32>
  %away3 = stablehlo.slice %away [3:4] : (tensor<4xf32>) -> tensor<1xf32>
  check.expect_eq_const %even3, dense<2.0> : tensor<1xf32>
  check.expect_eq_const %away3, dense<3.0> : tensor<1xf32>
  return
}

// -----

// Division of whole numbers: by zero, and of the lowest number by -1.
func.func @main() {
  %x = stablehlo.constant dense<[7, -7, -128, 5]> : tensor<4xi8>
  %y = stablehlo.constant dense<[-2, 2, -1, 0]> : tensor<4xi8>
  %q = stablehlo.divide %x, %y : tensor<4xi8>
  check.expect_eq_const %q, dense<[-3, -3, -128, -1]> : tensor<4xi8>
  %r = stablehlo.remainder %x, %y : tensor<4xi8>
  check.expect_eq_const %r, dense<[1, -1, 0, 5]> : tensor<4xi8>
  return
}

// -----

// Shifts by the width and beyond leave nothing, or the sign.
func.func @main() {
  %x = stablehlo.constant dense<[-8, -8, 3]> : tensor<3xi16>
  %by = stablehlo.constant dense<[1, 16, 17]> : tensor<3xi16>
  %left = stablehlo.shift_left %x, %by : tensor<3xi16>
  check.expect_eq_const %left, dense<[-16, 0, 0]> : tensor<3xi16>
  %right = stablehlo.shift_right_arithmetic %x, %by : tensor<3xi16>
  check.expect_eq_const %right, dense<[-4, -1, 0]> : tensor<3xi16>
  %logical = stablehlo.shift_right_logical %x, %by : tensor<3xi16>
  check.expect_eq_const %logical, dense<[32764, 0, 0]> : tensor<3xi16>
  return
}

// -----

// Four bits wrap around.
func.func @main() {
  %x = stablehlo.constant dense<[7, -8, 3]> : tensor<3xi4>
  %y = stablehlo.constant dense<[1, -1, 4]> : tensor<3xi4>
  %sum = stablehlo.add %x, %y : tensor<3xi4>
  check.expect_eq_const %sum, dense<[-8, 7, 7]> : tensor<3xi4>
  %product = stablehlo.multiply %x, %y : tensor<3xi4>
  check.expect_eq_const %product, dense<[7, -8, -4]> : tensor<3xi4>
  return
}

// -----

// Conversion truncates, saturates, and gives 0 for NaN; whole numbers keep their low bits.
func.func @main() {
  %x = stablehlo.constant dense<[2.9, -2.9, 1.0e10, 0x7FC00000]> : tensor<4xf32>
  %i = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xi8>
  check.expect_eq_const %i, dense<[2, -2, 127, 0]> : tensor<4xi8>
  %w = stablehlo.constant dense<[300, -1]> : tensor<2xi32>
  %n = stablehlo.convert %w : (tensor<2xi32>) -> tensor<2xui8>
  check.expect_eq_const %n, dense<[44, 255]> : tensor<2xui8>
  return
}

// -----

// 16-bit floats are rounded after every operation: 256 + 1 is 256 in bf16.
func.func @main() {
  %x = stablehlo.constant dense<256.0> : tensor<2xbf16>
  %one = stablehlo.constant dense<1.0> : tensor<2xbf16>
  %once = stablehlo.add %x, %one : tensor<2xbf16>
  %twice = stablehlo.add %once, %one : tensor<2xbf16>
  check.expect_eq_const %twice, dense<256.0> : tensor<2xbf16>
  return
}

// -----

// The logistic function, also where exp(-x) overflows: the result is denormal there, and may be zero.
func.func @main() {
  %x = stablehlo.constant dense<[-700.0, -40.0, 0.0, 40.0, 800.0]> : tensor<5xf64>
  %y = stablehlo.logistic %x : tensor<5xf64>
  %expected = stablehlo.constant dense<[9.859676543759770e-305, 4.248354255291589e-18, 0.5, 1.0, 1.0]> : tensor<5xf64>
  check.expect_close %y, %expected, max_ulp_difference = 3 : tensor<5xf64>, tensor<5xf64>
  %low = stablehlo.constant dense<-720.0> : tensor<f64>
  %tiny = stablehlo.logistic %low : tensor<f64>
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  check.expect_almost_eq %tiny, %zero : tensor<f64>
  return
}
