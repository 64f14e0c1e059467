// Complex arithmetic and parts.
func.func @main() {
  %x = stablehlo.constant dense<[(1.0, 2.0), (3.0, -4.0)]> : tensor<2xcomplex<f32>>
  %y = stablehlo.constant dense<[(0.0, 1.0), (2.0, 0.0)]> : tensor<2xcomplex<f32>>
  %product = stablehlo.multiply %x, %y : tensor<2xcomplex<f32>>
  check.expect_eq_const %product, dense<[(-2.0, 1.0), (6.0, -8.0)]> : tensor<2xcomplex<f32>>
  %quotient = stablehlo.divide %x, %y : tensor<2xcomplex<f32>>
  check.expect_almost_eq_const %quotient, dense<[(2.0, -1.0), (1.5, -2.0)]> : tensor<2xcomplex<f32>>
  %abs = stablehlo.abs %x : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  check.expect_almost_eq_const %abs, dense<[2.236068, 5.0]> : tensor<2xf32>
  %re = stablehlo.real %x : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %im = stablehlo.imag %x : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %swapped = stablehlo.complex %im, %re : tensor<2xcomplex<f32>>
  check.expect_eq_const %swapped, dense<[(2.0, 1.0), (-4.0, 3.0)]> : tensor<2xcomplex<f32>>
  return
}

// -----

// A Fourier transform of four points, and back.
func.func @main() {
  %x = stablehlo.constant dense<[(1.0, 0.0), (2.0, 0.0), (3.0, 0.0), (4.0, 0.0)]> : tensor<4xcomplex<f64>>
  %f = stablehlo.fft %x, type = FFT, length = [4] : (tensor<4xcomplex<f64>>) -> tensor<4xcomplex<f64>>
  check.expect_almost_eq_const %f, dense<[(10.0, 0.0), (-2.0, 2.0), (-2.0, 0.0), (-2.0, -2.0)]> : tensor<4xcomplex<f64>>
  %b = stablehlo.fft %f, type = IFFT, length = [4] : (tensor<4xcomplex<f64>>) -> tensor<4xcomplex<f64>>
  check.expect_almost_eq %b, %x : tensor<4xcomplex<f64>>
  return
}
