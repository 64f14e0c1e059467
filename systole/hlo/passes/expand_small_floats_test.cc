#include "systole/hlo/passes/expand_small_floats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "systole/hlo/semantics/evaluator.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/hlo/testing/small_float_programs.h"
#include "systole/stablehlo/text/text.h"

namespace systole::hlo {
namespace {

Tensor with_bytes_of(const Tensor& x, DType dtype) {
  Tensor result(dtype, x.shape());
  std::memcpy(result.raw(), x.raw(), static_cast<size_t>(x.byte_size()));
  return result;
}

// All NaNs are equal.
void expect_same_numbers(const Tensor& got, const Tensor& expected) {
  ASSERT_EQ(got.type(), expected.type());
  for (int64_t i = 0; i < got.num_elements(); ++i) {
    const double x = got.as_double(i);
    const double y = expected.as_double(i);
    EXPECT_TRUE((std::isnan(x) && std::isnan(y)) || (x == y && std::signbit(x) == std::signbit(y)))
        << i << ": " << x << ", expected " << y;
  }
}

TEST(ExpandSmallFloats, EveryTypeAsEvaluated) {
  for (const DType dtype : testing::small_float_dtypes()) {
    for (const auto& program : testing::small_float_programs(dtype)) {
      SCOPED_TRACE(program.name);
      const auto module = parse(program.text);
      verify(*module);
      EXPECT_TRUE(has_small_floats(*module));
      const auto expanded = expand_small_floats(*module);
      verify(*expanded);
      EXPECT_FALSE(has_small_floats(*expanded));
      const Tensor expected = Evaluator().run(module->entry(), program.arguments)[0];
      std::vector<Tensor> codes;
      for (const Tensor& x : program.arguments) codes.push_back(with_bytes_of(x, DType::u8));
      const Tensor got = Evaluator().run(expanded->entry(), codes)[0];
      expect_same_numbers(
          is_small_float(expected.dtype()) ? with_bytes_of(got, expected.dtype()) : got, expected);
    }
  }
}

TEST(ExpandSmallFloats, OtherProgramsHaveNone) {
  const auto module = parse(
      "func.func @main(%a: tensor<2xf16>) -> tensor<2xf16> {\n"
      "  %0 = stablehlo.add %a, %a : tensor<2xf16>\n  return %0 : tensor<2xf16>\n}");
  EXPECT_FALSE(has_small_floats(*module));
}

// One rounding at the end: in f8E4M3FN, 16 + 1 would stay 16.
TEST(ExpandSmallFloats, SumsDoNotStopGrowing) {
  const auto module = parse(
      "func.func @main(%a: tensor<64xf8E4M3FN>) -> tensor<f8E4M3FN> {\n"
      "  %c = stablehlo.constant dense<0.0> : tensor<f8E4M3FN>\n"
      "  %0 = stablehlo.reduce(%a init: %c) applies stablehlo.add across dimensions = [0] : "
      "(tensor<64xf8E4M3FN>, tensor<f8E4M3FN>) -> tensor<f8E4M3FN>\n"
      "  return %0 : tensor<f8E4M3FN>\n}");
  const Tensor ones = Tensor::full(DType::f8e4m3fn, {64}, 1);
  EXPECT_EQ(Evaluator().run(module->entry(), std::vector{ones})[0].as_double(0), 64);
}

TEST(ExpandSmallFloats, ProductsOfTwoTypes) {
  const auto module = parse(
      "func.func @main(%a: tensor<2x2xf32>, %b: tensor<2xi32>, %c: tensor<2xbf16>) -> "
      "(tensor<2xf32>, tensor<2xf32>) {\n"
      "  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : "
      "(tensor<2x2xf32>, tensor<2xi32>) -> tensor<2xf32>\n"
      "  %1 = stablehlo.dot_general %a, %c, contracting_dims = [1] x [0] : "
      "(tensor<2x2xf32>, tensor<2xbf16>) -> tensor<2xf32>\n"
      "  return %0, %1 : tensor<2xf32>, tensor<2xf32>\n}");
  verify(*module);
  const std::vector<Tensor> arguments = {Tensor::of<float>({2, 2}, {1, 2, 3, 4.5}),
                                         Tensor::of<int32_t>({2}, {-1, 2}),
                                         Tensor::of<float>({2}, {0.5, 2}).cast(DType::bf16)};
  EXPECT_TRUE(has_small_floats(*module));
  const auto expanded = expand_small_floats(*module);
  verify(*expanded);
  for (const Module* m : {module.get(), expanded.get()}) {
    const auto values = Evaluator().run(m->entry(), arguments);
    EXPECT_EQ(values[0].to_string(), "f32[2] {3, 6}");
    EXPECT_EQ(values[1].to_string(), "f32[2] {4.5, 10.5}");
  }
}

TEST(ExpandSmallFloats, CustomCallsGetCodesAndTheirTypes) {
  const auto module = parse(
      "func.func @main(%a: tensor<2xf8E5M2>) -> tensor<2xf8E5M2> {\n"
      "  %0 = stablehlo.custom_call @mine(%a) : (tensor<2xf8E5M2>) -> tensor<2xf8E5M2>\n"
      "  return %0 : tensor<2xf8E5M2>\n}");
  const auto expanded = expand_small_floats(*module);
  verify(*expanded);
  EXPECT_THAT(print(*expanded), ::testing::HasSubstr("systole.element_types = \"f8E5M2 f8E5M2\"} : "
                                                     "(tensor<2xui8>) -> tensor<2xui8>"));
}

}  // namespace
}  // namespace systole::hlo
