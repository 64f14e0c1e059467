// real, imag, complex.
#include "systole/hlo/testing/op_case.h"

namespace systole::hlo::testing {
namespace {

const std::string kPairs = "dense<[(1.0, -2.0), (-0.0, 0x7F800000)]> : tensor<2xcomplex<f32>>";

const ValueCase kValues[] = {
    {"c64", "real", {kPairs}, "{}", {"dense<[1.0, -0.0]> : tensor<2xf32>"}},
    {"c64", "imag", {kPairs}, "{}", {"dense<[-2.0, 0x7F800000]> : tensor<2xf32>"}},
    {"c128",
     "real",
     {"dense<(3.0, 4.0)> : tensor<complex<f64>>"},
     "{}",
     {"dense<3.0> : tensor<f64>"}},
    {"c128",
     "imag",
     {"dense<(3.0, 4.0)> : tensor<complex<f64>>"},
     "{}",
     {"dense<4.0> : tensor<f64>"}},
    {"bf16", "real", {"dense<3.0> : tensor<bf16>"}, "{}", {"dense<3.0> : tensor<bf16>"}},
    {"bf16", "imag", {"dense<3.0> : tensor<bf16>"}, "{}", {"dense<0.0> : tensor<bf16>"}},
    {"c64",
     "complex",
     {"dense<[1.0, -0.0]> : tensor<2xf32>", "dense<[-2.0, 0x7F800000]> : tensor<2xf32>"},
     "{}",
     {kPairs}},
    {"c128",
     "complex",
     {"dense<3.0> : tensor<f64>", "dense<4.0> : tensor<f64>"},
     "{}",
     {"dense<(3.0, 4.0)> : tensor<complex<f64>>"}},
};

const ErrorCase kErrors[] = {
    {"i1_integer",
     "real",
     {"tensor<2xi32>"},
     "{}",
     {"tensor<2xi32>"},
     "real: element type, got s32, expected floating-point or complex"},
    {"c2_element_type",
     "real",
     {"tensor<2xcomplex<f64>>"},
     "{}",
     {"tensor<2xf32>"},
     "got (f32[2]), expected (f64[2])"},
    {"i1_integer",
     "imag",
     {"tensor<2xi1>"},
     "{}",
     {"tensor<2xi1>"},
     "imag: element type, got pred, expected floating-point or complex"},
    {"c1_shape",
     "imag",
     {"tensor<2xf32>"},
     "{}",
     {"tensor<3xf32>"},
     "got (f32[3]), expected (f32[2])"},
    {"c1_types",
     "complex",
     {"tensor<2xf32>", "tensor<2xf64>"},
     "{}",
     {"tensor<2xcomplex<f64>>"},
     "complex: operand types, got f32[2] and f64[2], expected equal"},
    {"i1_f16",
     "complex",
     {"tensor<2xf16>", "tensor<2xf16>"},
     "{}",
     {"tensor<2xcomplex<f32>>"},
     "complex: element type, got f16, expected f32 or f64"},
    {"c3_element_type",
     "complex",
     {"tensor<2xf32>", "tensor<2xf32>"},
     "{}",
     {"tensor<2xcomplex<f64>>"},
     "got (c128[2]), expected (c64[2])"},
};

INSTANTIATE_TEST_SUITE_P(Complex, OpValue, ::testing::ValuesIn(kValues), row_name<ValueCase>);
INSTANTIATE_TEST_SUITE_P(Complex, OpError, ::testing::ValuesIn(kErrors), row_name<ErrorCase>);

}  // namespace
}  // namespace systole::hlo::testing
