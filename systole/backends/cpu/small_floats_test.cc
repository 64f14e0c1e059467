// Floats below 16 bits, and integers of 2 bits, against the reference semantics.
#include <gtest/gtest.h>

#include "systole/backends/cpu/testing/compare.h"
#include "systole/hlo/testing/small_float_programs.h"
#include "systole/stablehlo/text/text.h"

namespace systole::cpu {
namespace {

TEST(SmallFloats, EveryTypeAsEvaluated) {
  for (const DType dtype : hlo::testing::small_float_dtypes()) {
    for (const auto& program : hlo::testing::small_float_programs(dtype)) {
      EXPECT_EQ(testing::check(*hlo::parse(program.text), program.arguments), "") << program.name;
    }
  }
}

TEST(SmallFloats, ExecutablesHaveTheTypesOfTheProgram) {
  const auto module = hlo::parse(
      "func.func @main(%a: tensor<2xf8E4M3FN>, %b: tensor<2xf32>) -> (tensor<2xf8E5M2>, "
      "tensor<2xf32>) {\n"
      "  %0 = stablehlo.convert %a : (tensor<2xf8E4M3FN>) -> tensor<2xf8E5M2>\n"
      "  return %0, %b : tensor<2xf8E5M2>, tensor<2xf32>\n}");
  const auto executable = testing::client().compile(*module);
  const auto read = testing::client().deserialize(executable->serialize());
  for (const runtime::Executable* x : {executable.get(), read.get()}) {
    EXPECT_EQ(x->parameter_types()[0], (TensorType{DType::f8e4m3fn, {2}}));
    EXPECT_EQ(x->parameter_types()[1], (TensorType{DType::f32, {2}}));
    EXPECT_EQ(x->result_types()[0], (TensorType{DType::f8e5m2, {2}}));
  }
}

TEST(TwoBits, IntegersWrapAndConvert) {
  const auto module = hlo::parse(R"(
func.func @main(%a: tensor<16xi2>, %b: tensor<16xi2>, %c: tensor<16xf32>) -> (tensor<16xi2>, tensor<16xui2>, tensor<16xi2>, tensor<16xi8>, tensor<16xui2>, tensor<16xi2>) {
  %0 = stablehlo.add %a, %b : tensor<16xi2>
  %1 = stablehlo.multiply %0, %b : tensor<16xi2>
  %2 = stablehlo.convert %1 : (tensor<16xi2>) -> tensor<16xui2>
  %3 = stablehlo.shift_right_logical %a, %b : tensor<16xi2>
  %4 = stablehlo.popcnt %a : tensor<16xi2>
  %5 = stablehlo.count_leading_zeros %b : tensor<16xi2>
  %6 = stablehlo.add %4, %5 : tensor<16xi2>
  %7 = stablehlo.convert %6 : (tensor<16xi2>) -> tensor<16xi8>
  %8 = stablehlo.convert %c : (tensor<16xf32>) -> tensor<16xui2>
  %9 = stablehlo.convert %c : (tensor<16xf32>) -> tensor<16xi2>
  return %1, %2, %3, %7, %8, %9 : tensor<16xi2>, tensor<16xui2>, tensor<16xi2>, tensor<16xi8>, tensor<16xui2>, tensor<16xi2>
})");
  std::vector<int32_t> a;
  std::vector<int32_t> b;
  std::vector<float> c;
  for (int i = 0; i < 16; ++i) {
    a.push_back(i % 4 - 2);
    b.push_back(i / 4 - 2);
    c.push_back(static_cast<float>(i) / 2 - 4);
  }
  EXPECT_EQ(
      testing::check(*module, std::vector<Tensor>{Tensor::of<int32_t>({16}, a).cast(DType::s2),
                                                  Tensor::of<int32_t>({16}, b).cast(DType::s2),
                                                  Tensor::of<float>({16}, c)}),
      "");
}

}  // namespace
}  // namespace systole::cpu
