// cholesky, triangular_solve, fft.
#include <gmock/gmock.h>

#include <cmath>
#include <numbers>

#include "systole/hlo/testing/op_case.h"
#include "systole/hlo/testing/run_op.h"

namespace systole::hlo::testing {
namespace {

std::string solve(bool left_side, bool lower, const std::string& transpose_a = "NO_TRANSPOSE",
                  bool unit_diagonal = false) {
  const auto text = [](bool value) { return std::string(value ? "true" : "false"); };
  return "{left_side = " + text(left_side) + ", lower = " + text(lower) +
         ", unit_diagonal = " + text(unit_diagonal) + ", transpose_a = #stablehlo<transpose " +
         transpose_a + ">}";
}

std::string fft(const std::string& type, const std::string& length) {
  return "{fft_type = #stablehlo<fft_type " + type + ">, fft_length = array<i64: " + length + ">}";
}

const std::string kLower = "dense<[[2.0, 9.0], [1.0, 4.0]]> : tensor<2x2xf32>";  // 9 is not read
const std::string kReal = "dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf64>";
const std::string kSpectrum =
    "dense<[(10.0, 0.0), (-2.0, 2.0), (-2.0, 0.0)]> : tensor<3xcomplex<f64>>";
const std::string kSquare =
    "dense<[[(1.0, 2.0), (3.0, -4.0)], [(-5.0, 6.0), (-7.0, -8.0)]]> : "
    "tensor<2x2xcomplex<f64>>";
const std::string kSquareSpectrum =
    "dense<[[(-8.0, -4.0), (0.0, 20.0)], [(16.0, 0.0), (-4.0, "
    "-8.0)]]> : tensor<2x2xcomplex<f64>>";
const std::string kGrid =
    "dense<[[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]], [[9.0, 10.0, "
    "11.0, 12.0], [13.0, 14.0, 15.0, 16.0]]]> : tensor<2x2x4xf32>";
const std::string kGridSpectrum =
    "dense<[[[(136.0, 0.0), (-8.0, 8.0), (-8.0, 0.0)], [(-32.0, 0.0), (0.0, 0.0), (0.0, 0.0)]], "
    "[[(-64.0, 0.0), (0.0, 0.0), (0.0, 0.0)], [(0.0, 0.0), (0.0, 0.0), (0.0, 0.0)]]]> : "
    "tensor<2x2x3xcomplex<f32>>";

const ValueCase kValues[] = {
    {"lower_reads_the_lower_triangle",
     "cholesky",
     {"dense<[[1.0, 7.0, 7.0], [2.0, 20.0, 7.0], [3.0, 26.0, 70.0]]> : tensor<3x3xf32>"},
     "{lower = true}",
     {"dense<[[1.0, 0.0, 0.0], [2.0, 4.0, 0.0], [3.0, 5.0, 6.0]]> : tensor<3x3xf32>"}},
    {"upper_reads_the_upper_triangle_of_each_matrix",
     "cholesky",
     {"dense<[[[1.0, 2.0], [7.0, 20.0]], [[4.0, 2.0], [7.0, 2.0]]]> : tensor<2x2x2xbf16>"},
     "{lower = false}",
     {"dense<[[[1.0, 2.0], [0.0, 4.0]], [[2.0, 1.0], [0.0, 1.0]]]> : tensor<2x2x2xbf16>"}},
    // [[4, 2 - 2i], [2 + 2i, 3]] = l l^H.
    {"hermitian",
     "cholesky",
     {"dense<[[(4.0, 0.0), (7.0, 7.0)], [(2.0, 2.0), (3.0, 0.0)]]> : tensor<2x2xcomplex<f32>>"},
     "{lower = true}",
     {"dense<[[(2.0, 0.0), (0.0, 0.0)], [(1.0, 1.0), (1.0, 0.0)]]> : tensor<2x2xcomplex<f32>>"}},
    {"hermitian_upper",
     "cholesky",
     {"dense<[[(4.0, 0.0), (2.0, -2.0)], [(7.0, 7.0), (3.0, 0.0)]]> : tensor<2x2xcomplex<f32>>"},
     "{}",
     {"dense<[[(2.0, 0.0), (1.0, -1.0)], [(0.0, 0.0), (1.0, 0.0)]]> : tensor<2x2xcomplex<f32>>"}},
    {"none", "cholesky", {"dense<> : tensor<0x2x2xf64>"}, "{}", {"dense<> : tensor<0x2x2xf64>"}},

    {"left_lower",
     "triangular_solve",
     {kLower, "dense<[[6.0, 2.0], [11.0, 9.0]]> : tensor<2x2xf32>"},
     solve(true, true),
     {"dense<[[3.0, 1.0], [2.0, 2.0]]> : tensor<2x2xf32>"}},
    {"left_lower_transposed",  // [[2, 1], [0, 4]] x = b
     "triangular_solve",
     {kLower, "dense<[[8.0], [8.0]]> : tensor<2x1xf32>"},
     solve(true, true, "TRANSPOSE"),
     {"dense<[[3.0], [2.0]]> : tensor<2x1xf32>"}},
    {"right_lower",  // x [[2, 0], [1, 4]] = b
     "triangular_solve",
     {kLower, "dense<[[8.0, 8.0]]> : tensor<1x2xf32>"},
     solve(false, true),
     {"dense<[[3.0, 2.0]]> : tensor<1x2xf32>"}},
    {"right_lower_transposed",  // x [[2, 1], [0, 4]] = b
     "triangular_solve",
     {kLower, "dense<[[6.0, 11.0]]> : tensor<1x2xf32>"},
     solve(false, true, "TRANSPOSE"),
     {"dense<[[3.0, 2.0]]> : tensor<1x2xf32>"}},
    {"left_upper",
     "triangular_solve",
     {"dense<[[2.0, 1.0], [9.0, 4.0]]> : tensor<2x2xf16>",
      "dense<[[8.0], [8.0]]> : tensor<2x1xf16>"},
     solve(true, false),
     {"dense<[[3.0], [2.0]]> : tensor<2x1xf16>"}},
    {"unit_diagonal",  // [[1, 0], [1, 1]] x = b
     "triangular_solve",
     {kLower, "dense<[[3.0], [5.0]]> : tensor<2x1xf32>"},
     solve(true, true, "NO_TRANSPOSE", true),
     {"dense<[[3.0], [2.0]]> : tensor<2x1xf32>"}},
    {"adjoint",  // [[1, -i], [0, 1]] x = b
     "triangular_solve",
     {"dense<[[(1.0, 0.0), (9.0, 9.0)], [(0.0, 1.0), (1.0, 0.0)]]> : tensor<2x2xcomplex<f64>>",
      "dense<[[(1.0, 0.0)], [(0.0, 1.0)]]> : tensor<2x1xcomplex<f64>>"},
     solve(true, true, "ADJOINT"),
     {"dense<[[(0.0, 0.0)], [(0.0, 1.0)]]> : tensor<2x1xcomplex<f64>>"}},
    {"batches",
     "triangular_solve",
     {"dense<[[[2.0]], [[4.0]]]> : tensor<2x1x1xf64>",
      "dense<[[[2.0, 4.0]], [[4.0, 8.0]]]> : tensor<2x1x2xf64>"},
     solve(true, true),
     {"dense<[[[1.0, 2.0]], [[1.0, 2.0]]]> : tensor<2x1x2xf64>"}},

    {"real", "fft", {kReal}, fft("RFFT", "4"), {kSpectrum}},
    {"real_back", "fft", {kSpectrum}, fft("IRFFT", "4"), {kReal}},
    {"plane", "fft", {kSquare}, fft("FFT", "2, 2"), {kSquareSpectrum}},
    {"plane_back", "fft", {kSquareSpectrum}, fft("IFFT", "2, 2"), {kSquare}},
    {"each_row",
     "fft",
     {kSquare},
     fft("FFT", "2"),
     {"dense<[[(4.0, -2.0), (-2.0, 6.0)], [(-12.0, -2.0), (2.0, 14.0)]]> : "
      "tensor<2x2xcomplex<f64>>"}},
    {"grid", "fft", {kGrid}, fft("RFFT", "2, 2, 4"), {kGridSpectrum}},
    {"grid_back", "fft", {kGridSpectrum}, fft("IRFFT", "2, 2, 4"), {kGrid}},
    {"nothing",
     "fft",
     {"dense<> : tensor<2x0xf32>"},
     fft("RFFT", "0"),
     {"dense<> : tensor<2x0xcomplex<f32>>"}},
};

const ErrorCase kErrors[] = {
    {"i1_integers",
     "cholesky",
     {"tensor<2x2xi32>"},
     "{}",
     {"tensor<2x2xi32>"},
     "cholesky: element type, got s32, expected floating-point or complex"},
    {"c2_vector",
     "cholesky",
     {"tensor<2xf32>"},
     "{}",
     {"tensor<2xf32>"},
     "cholesky: shape of a, got [2], expected square matrices"},
    {"c3_not_square",
     "cholesky",
     {"tensor<2x3xf32>"},
     "{}",
     {"tensor<2x3xf32>"},
     "cholesky: shape of a, got [2,3], expected square matrices"},
    {"c1_result",
     "cholesky",
     {"tensor<2x2xf32>"},
     "{}",
     {"tensor<2x2xf64>"},
     "got (f64[2,2]), expected (f32[2,2])"},

    {"c1_element_types",
     "triangular_solve",
     {"tensor<2x2xf32>", "tensor<2x2xf64>"},
     solve(true, true),
     {"tensor<2x2xf64>"},
     "triangular_solve: element type of b, got f64, expected f32"},
    {"c2_ranks",
     "triangular_solve",
     {"tensor<2x2xf32>", "tensor<2xf32>"},
     solve(true, true),
     {"tensor<2xf32>"},
     "triangular_solve: shapes, got [2,2] and [2], expected square matrices"},
    {"c3_rows",
     "triangular_solve",
     {"tensor<2x2xf32>", "tensor<3x2xf32>"},
     solve(true, true),
     {"tensor<3x2xf32>"},
     "triangular_solve: shape of b, got [3,2], expected [2,2]"},
    {"c3_columns",
     "triangular_solve",
     {"tensor<2x2xf32>", "tensor<2x3xf32>"},
     solve(false, true),
     {"tensor<2x3xf32>"},
     "triangular_solve: shape of b, got [2,3], expected [2,2]"},
    {"c3_batches",
     "triangular_solve",
     {"tensor<3x2x2xf32>", "tensor<2x2x2xf32>"},
     solve(true, true),
     {"tensor<2x2x2xf32>"},
     "triangular_solve: shape of b, got [2,2,2], expected [3,2,2]"},
    {"i6_transpose",
     "triangular_solve",
     {"tensor<2x2xf32>", "tensor<2x2xf32>"},
     solve(true, true, "TRANSPOSE_INVALID"),
     {"tensor<2x2xf32>"},
     "triangular_solve: transpose_a, got TRANSPOSE_INVALID"},

    {"c1_too_many_axes",
     "fft",
     {"tensor<4xcomplex<f32>>"},
     fft("FFT", "4, 4"),
     {"tensor<4xcomplex<f32>>"},
     "fft: fft_length, got [4, 4], expected 1 to 3 of the axes of [4]"},
    {"c2_real",
     "fft",
     {"tensor<4xf32>"},
     fft("FFT", "4"),
     {"tensor<4xf32>"},
     "fft: element type, got f32, expected c64 or c128"},
    {"c2_complex",
     "fft",
     {"tensor<4xcomplex<f32>>"},
     fft("RFFT", "4"),
     {"tensor<3xcomplex<f32>>"},
     "fft: element type, got c64, expected f32 or f64"},
    {"c4_length",
     "fft",
     {"tensor<4xf32>"},
     fft("RFFT", "5"),
     {"tensor<3xcomplex<f32>>"},
     "fft: fft_length, got [5] for [4], expected the sizes of its last axes"},
    {"c5_half",
     "fft",
     {"tensor<4xcomplex<f32>>"},
     fft("IRFFT", "4"),
     {"tensor<4xf32>"},
     "fft: last axis of [4], got 4, expected 3 for fft_length [4]"},
};

// Against the definition, for lengths with odd and even factors.
TEST(FftTest, Definition) {
  for (const int64_t n : {1, 2, 3, 5, 6, 12, 16, 17, 40}) {
    Tensor x(DType::c128, {n});
    for (int64_t j = 0; j < n; ++j) {
      x.data<std::complex<double>>()[j] = {std::sin(1.0 + 2.0 * j), std::cos(3.0 * j)};
    }
    const OpUnderTest forward{
        .opcode = Opcode::fft, .operands = {x}, .attrs = FftAttrs{FftType::fft, {n}}};
    const Tensor y = run_op(forward)[0];
    for (int64_t k = 0; k < n; ++k) {
      std::complex<double> sum;
      for (int64_t j = 0; j < n; ++j) {
        const double angle = -2 * std::numbers::pi * static_cast<double>(j * k % n) / n;
        sum += x.data<std::complex<double>>()[j] * std::polar(1.0, angle);
      }
      EXPECT_LT(std::abs(sum - y.data<std::complex<double>>()[k]), 1e-13 * n);
    }
    const OpUnderTest back{
        .opcode = Opcode::fft, .operands = {y}, .attrs = FftAttrs{FftType::ifft, {n}}};
    const Tensor again = run_op(back)[0];
    for (size_t j = 0; j < static_cast<size_t>(n); ++j) {
      EXPECT_LT(std::abs(again.data<std::complex<double>>()[j] - x.data<std::complex<double>>()[j]),
                1e-14 * n);
    }
  }
}

TEST(CholeskyTest, NotPositiveDefinite) {
  const OpUnderTest op{.opcode = Opcode::cholesky,
                       .operands = {Tensor::of<float>({1, 1}, {-1})},
                       .attrs = CholeskyAttrs{.lower = true}};
  EXPECT_TRUE(std::isnan(run_op(op)[0].data<float>()[0]));
}

INSTANTIATE_TEST_SUITE_P(LinearAlgebra, OpValue, ::testing::ValuesIn(kValues), row_name<ValueCase>);
INSTANTIATE_TEST_SUITE_P(LinearAlgebra, OpError, ::testing::ValuesIn(kErrors), row_name<ErrorCase>);

}  // namespace
}  // namespace systole::hlo::testing
