// A function without results is called before it is defined.
func.func @main() {
  %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  call @nothing(%x) : (tensor<2xf32>) -> ()
  %y = call @twice(%x) : (tensor<2xf32>) -> tensor<2xf32>
  check.expect_eq_const %y, dense<[2.0, 4.0]> : tensor<2xf32>
  return
}
func.func private @nothing(%x: tensor<2xf32>) {
  return
}
func.func private @twice(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = stablehlo.add %x, %x : tensor<2xf32>
  return %y : tensor<2xf32>
}

// -----

// A function that is declared only, and never called.
module {
  func.func private @outside(tensor<2xf32>) -> tensor<f32>
  func.func @main() {
    %x = stablehlo.constant dense<3> : tensor<i32>
    check.expect_eq_const %x, dense<3> : tensor<i32>
    return
  }
}

// -----

// The element type decides how integers compare: i32 is signed.
func.func @main() {
  %x = stablehlo.constant dense<[-1, 2]> : tensor<2xi32>
  %y = stablehlo.constant dense<[1, 1]> : tensor<2xi32>
  %less = stablehlo.compare LT, %x, %y, UNSIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
  check.expect_eq_const %less, dense<[true, false]> : tensor<2xi1>
  return
}

// -----

// A random state of 32-bit words draws what the same bits draw as 64-bit words.
func.func @main() {
  %wide = stablehlo.constant dense<[12884901890, 4]> : tensor<2xui64>
  %narrow = stablehlo.constant dense<[2, 3, 4, 0]> : tensor<4xi32>
  %s, %x = stablehlo.rng_bit_generator %wide, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8xui32>)
  %t, %y = stablehlo.rng_bit_generator %narrow, algorithm = THREE_FRY : (tensor<4xi32>) -> (tensor<4xi32>, tensor<8xui32>)
  check.expect_eq %x, %y : tensor<8xui32>
  return
}
