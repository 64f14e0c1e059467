// Custom calls that LAPACK computes. (JAX's own programs run in
// tests/conformance/jax_export_test.cc.)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "systole/base/testing/error_of.h"
#include "systole/runtime/registry.h"
#include "systole/stablehlo/text/text.h"

namespace systole::cpu {
namespace {

using systole::testing::error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::vector<Tensor> run_program(const std::string& text, const std::vector<Tensor>& arguments) {
  return runtime::run(*runtime::client("cpu").compile(*hlo::parse(text)), arguments);
}

// Entry (i, j) of op(A), where A is a triangle of `a`.
double entry(const Tensor& a, int64_t i, int64_t j, char uplo, char transposed, char diagonal) {
  if (transposed != 'N') std::swap(i, j);
  if (i == j && diagonal == 'U') return 1;
  if (uplo == 'L' ? j > i : i > j) return 0;
  return a.as_double(i * a.dim(1) + j);
}

TEST(Lapack, SolvesTriangularSystemsOfEverySide) {
  const Tensor a = Tensor::of<double>({3, 3}, {2, 5, 7, 1, 3, -4, 6, -2, 4});
  const Tensor b = Tensor::of<double>({3, 3}, {1, 2, 3, 4, -5, 6, 7, 8, 9});
  for (const char side : {'L', 'R'}) {
    for (const char uplo : {'L', 'U'}) {
      for (const char transposed : {'N', 'T', 'C'}) {
        for (const char diagonal : {'N', 'U'}) {
          const std::string text = fmt::format(
              R"(func.func @main(%a: tensor<3x3xf64>, %b: tensor<3x3xf64>) -> tensor<3x3xf64> {{
  %x = "stablehlo.custom_call"(%a, %b) {{call_target_name = "lapack_dtrsm_ffi", api_version = 4 : i32,
      backend_config = {{side = {} : ui8, uplo = {} : ui8, trans_x = {} : ui8, diag = {} : ui8}}}}
      : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
  return %x : tensor<3x3xf64>
}})",
              static_cast<int>(side), static_cast<int>(uplo), static_cast<int>(transposed),
              static_cast<int>(diagonal));
          const Tensor x = run_program(text, {a, b})[0];
          for (int64_t i = 0; i < 3; ++i) {
            for (int64_t j = 0; j < 3; ++j) {
              double product = 0;
              for (int64_t k = 0; k < 3; ++k) {
                product +=
                    side == 'L'
                        ? entry(a, i, k, uplo, transposed, diagonal) * x.as_double(k * 3 + j)
                        : x.as_double(i * 3 + k) * entry(a, k, j, uplo, transposed, diagonal);
              }
              EXPECT_NEAR(product, b.as_double(i * 3 + j), 1e-9)
                  << side << uplo << transposed << diagonal;
            }
          }
        }
      }
    }
  }
}

// The eigenvalues of a rotation by a quarter turn are i and -i; of a batch, the second matrix is
// diagonal.
TEST(Lapack, UnpacksConjugateEigenvectorsOfBatches) {
  const Tensor a = Tensor::of<float>({2, 2, 2}, {0, -1, 1, 0, 3, 0, 0, 2});
  const auto results = run_program(R"(
func.func @main(%a: tensor<2x2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2x2xcomplex<f32>>) {
  %r:5 = "stablehlo.custom_call"(%a) {call_target_name = "lapack_sgeev_ffi",
      mhlo.backend_config = {compute_left = 86 : ui8, compute_right = 86 : ui8}}
      : (tensor<2x2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2x2xcomplex<f32>>,
                                tensor<2x2x2xcomplex<f32>>, tensor<2xi32>)
  return %r#0, %r#1, %r#3 : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2x2xcomplex<f32>>
})",
                                   {a});
  EXPECT_TRUE(results[0].identical(Tensor::of<float>({2, 2}, {0, 0, 3, 2}))) << results[0];
  EXPECT_TRUE(results[1].identical(Tensor::of<float>({2, 2}, {1, -1, 0, 0}))) << results[1];
  const auto vectors = results[2].data<std::complex<float>>();
  // A v = i v: -v1 = i v0.
  EXPECT_NEAR(std::abs(-vectors[2] - std::complex<float>(0, 1) * vectors[0]), 0, 1e-6);
  EXPECT_NEAR(std::abs(vectors[1] - std::conj(vectors[0])), 0, 1e-6);
}

// With LAPACK's own status JAX replaces the results by NaNs; the routine might not end.
TEST(Lapack, EigenvaluesOfWhatIsNotFiniteHaveAStatus) {
  const auto results = run_program(R"(
func.func @main(%a: tensor<2x2xf64>) -> tensor<i32> {
  %r:5 = "stablehlo.custom_call"(%a) {call_target_name = "lapack_dgeev_ffi",
      mhlo.backend_config = {compute_left = 78 : ui8, compute_right = 86 : ui8}}
      : (tensor<2x2xf64>) -> (tensor<2xf64>, tensor<2xf64>, tensor<2x2xcomplex<f64>>,
                              tensor<2x2xcomplex<f64>>, tensor<i32>)
  return %r#4 : tensor<i32>
})",
                                   {Tensor::of<double>({2, 2}, {1, std::nan(""), 3, 4})});
  EXPECT_TRUE(results[0].identical(Tensor::of<int32_t>({}, {-4}))) << results[0];
}

// Singular values alone, with results for vectors of either shape.
TEST(Lapack, SingularValuesTakeResultsOfEitherShape) {
  for (const int columns : {3, 2}) {
    const auto results = run_program(fmt::format(R"(
func.func @main(%a: tensor<2x3xf32>) -> tensor<2xf32> {{
  %r:5 = "stablehlo.custom_call"(%a) {{call_target_name = "lapack_sgesdd_ffi",
      mhlo.backend_config = {{mode = 78 : ui8}}}}
      : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2xf32>, tensor<2x2xf32>, tensor<{}x3xf32>, tensor<i32>)
  return %r#1 : tensor<2xf32>
}})",
                                                 columns),
                                     {Tensor::of<float>({2, 3}, {0, 3, 0, 0, 0, -5})});
    EXPECT_NEAR(results[0].as_double(0), 5, 1e-5);
    EXPECT_NEAR(results[0].as_double(1), 3, 1e-5);
  }
}

// One reflector I - tau v v' with v = (1, 1) and tau = 1 exchanges the rows, or columns, and their
// signs.
TEST(Lapack, MultipliesByReflectorsFromEitherSide) {
  for (const bool left : {true, false}) {
    const auto results =
        run_program(fmt::format(R"(
func.func @main(%a: tensor<2x1xf64>, %t: tensor<1xf64>, %c: tensor<2x2xf64>) -> tensor<2x2xf64> {{
  %r = "stablehlo.custom_call"(%a, %t, %c) {{call_target_name = "lapack_dormqr_ffi",
      mhlo.backend_config = {{left = {}, transpose = false}}}}
      : (tensor<2x1xf64>, tensor<1xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
  return %r : tensor<2x2xf64>
}})",
                                left),
                    {Tensor::of<double>({2, 1}, {7, 1}), Tensor::of<double>({1}, {1}),
                     Tensor::of<double>({2, 2}, {1, 2, 3, 4})});
    const Tensor expected = left ? Tensor::of<double>({2, 2}, {-3, -4, -1, -2})
                                 : Tensor::of<double>({2, 2}, {-2, -1, -4, -3});
    for (int64_t i = 0; i < 4; ++i)
      EXPECT_NEAR(results[0].as_double(i), expected.as_double(i), 1e-12);
  }
}

TEST(Lapack, RefusesCallsThatDoNotFit) {
  const auto refusal = [](const std::string& target, const std::string& settings,
                          const std::string& types) {
    return error_of([&] {
      run_program(fmt::format(R"(func.func @main(%a: tensor<2x3xf64>) -> tensor<2x3xf64> {{
  %x:2 = "stablehlo.custom_call"(%a) {{call_target_name = "{}", mhlo.backend_config = {{{}}}}} : {}
  return %x#0 : tensor<2x3xf64>
}})",
                              target, settings, types),
                  {Tensor::zeros(DType::f64, {2, 3})});
    });
  };
  const std::string qr = "(tensor<2x3xf64>) -> (tensor<2x3xf64>, tensor<2xf64>)";
  EXPECT_EQ(refusal("lapack_dgeqrf_ffi", "", qr), "no error");
  EXPECT_THAT(
      refusal("lapack_dgeqrf_ffi", "", "(tensor<2x3xf64>) -> (tensor<2x3xf64>, tensor<3xf64>)"),
      AllOf(StartsWith("INVALID_ARGUMENT"),
            HasSubstr("'lapack_dgeqrf_ffi': result 1, got f64[3], expected f64[2]")));
  EXPECT_THAT(refusal("lapack_sgeqrf_ffi", "", qr),
              HasSubstr("operand 0, got f64[2,3], expected f32 of rank 2 or more"));
  EXPECT_THAT(refusal("lapack_dpotrf_ffi", "uplo = 76 : ui8", qr),
              HasSubstr("matrices of 2 x 3, expected square ones"));
  EXPECT_THAT(refusal("lapack_dgesdd_ffi", "", qr), HasSubstr("setting 'mode' is missing"));
  EXPECT_THAT(refusal("lapack_dabcd_ffi", "", qr),
              AllOf(StartsWith("UNIMPLEMENTED"), HasSubstr("'lapack_dabcd_ffi'")));
  EXPECT_THAT(refusal("lapack_dheevd_ffi", "", qr), HasSubstr("'lapack_dheevd_ffi'"));
  EXPECT_THAT(
      error_of([] {
        run_program(
            R"(func.func @main(%a: tensor<4xf64>, %b: tensor<2xf64>, %c: tensor<4x1xf64>) -> tensor<4xf64> {
  %x:5 = "stablehlo.custom_call"(%a, %b, %a, %c) {call_target_name = "lapack_dgtsv_ffi"}
      : (tensor<4xf64>, tensor<2xf64>, tensor<4xf64>, tensor<4x1xf64>)
      -> (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4x1xf64>, tensor<i32>)
  return %x#0 : tensor<4xf64>
})",
            {Tensor::zeros(DType::f64, {4}), Tensor::zeros(DType::f64, {2}),
             Tensor::zeros(DType::f64, {4, 1})});
      }),
      HasSubstr("'lapack_dgtsv_ffi': operand 1, got [2]"));
}

// The condition never becomes false while the routine refuses its argument.
TEST(Lapack, AnErrorEndsALoop) {
  const std::string error = error_of([] {
    run_program(R"(func.func @main(%a: tensor<1x1xf64>) -> tensor<1x1xf64> {
  %limit = stablehlo.constant dense<10.0> : tensor<1x1xf64>
  %r = stablehlo.while(%x = %a) : tensor<1x1xf64> cond {
    %c = stablehlo.compare LT, %x, %limit : (tensor<1x1xf64>, tensor<1x1xf64>) -> tensor<1x1xi1>
    %d = stablehlo.reshape %c : (tensor<1x1xi1>) -> tensor<i1>
    stablehlo.return %d : tensor<i1>
  } do {
    %y:2 = "stablehlo.custom_call"(%x) {call_target_name = "lapack_dpotrf_ffi",
        mhlo.backend_config = {uplo = 1 : ui8}} : (tensor<1x1xf64>) -> (tensor<1x1xf64>, tensor<i32>)
    stablehlo.return %y#0 : tensor<1x1xf64>
  }
  return %r : tensor<1x1xf64>
})",
                {Tensor::of<double>({1, 1}, {4})});
  });
  EXPECT_THAT(error, HasSubstr("LAPACKE_dpotrf"));
}

}  // namespace
}  // namespace systole::cpu
