#include "systole/backends/cpu/passes/epilogue_fusion.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "systole/backends/cpu/analysis/product_fusion.h"
#include "systole/backends/cpu/kernels/panel_product.h"
#include "systole/backends/cpu/testing/compare.h"
#include "systole/hlo/passes/dce.h"
#include "systole/hlo/semantics/verifier.h"
#include "systole/stablehlo/text/text.h"

namespace systole::cpu {
namespace {

// A dense layer with a bias, the sum with its own input, and a limit.
constexpr const char* kDenseLayer =
    R"(func.func public @main(%x: tensor<37x96xf32>, %w: tensor<96x96xf32>, %b: tensor<96xf32>) -> tensor<37x96xf32> {
      %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<37x96xf32>, tensor<96x96xf32>) -> tensor<37x96xf32>
      %bias = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<96xf32>) -> tensor<37x96xf32>
      %sum = stablehlo.add %y, %bias : tensor<37x96xf32>
      %residual = stablehlo.add %x, %sum : tensor<37x96xf32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<37x96xf32>
      %r = stablehlo.maximum %residual, %zeros : tensor<37x96xf32>
      return %r : tensor<37x96xf32>
    })";

// A convolution, a normalisation with known statistics, and a limit on both sides.
constexpr const char* kConvolutionLayer =
    R"(func.func public @main(%x: tensor<2x13x12x64xf32>, %w: tensor<3x3x64x64xf32>, %m: tensor<64xf32>, %s: tensor<64xf32>) -> tensor<2x13x12x64xf32> {
      %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x13x12x64xf32>, tensor<3x3x64x64xf32>) -> tensor<2x13x12x64xf32>
      %mean = stablehlo.broadcast_in_dim %m, dims = [3] : (tensor<64xf32>) -> tensor<2x13x12x64xf32>
      %centred = stablehlo.subtract %mean, %y : tensor<2x13x12x64xf32>
      %scale = stablehlo.broadcast_in_dim %s, dims = [3] : (tensor<64xf32>) -> tensor<2x13x12x64xf32>
      %scaled = stablehlo.multiply %centred, %scale : tensor<2x13x12x64xf32>
      %low = stablehlo.constant dense<-1.0> : tensor<2x13x12x64xf32>
      %high = stablehlo.constant dense<6.0> : tensor<2x13x12x64xf32>
      %above = stablehlo.maximum %scaled, %low : tensor<2x13x12x64xf32>
      %r = stablehlo.minimum %above, %high : tensor<2x13x12x64xf32>
      return %r : tensor<2x13x12x64xf32>
    })";

int count_product_fusions(const hlo::Module& module) {
  const auto instructions = module.entry().instructions();
  return static_cast<int>(std::ranges::count_if(
      instructions, [](const hlo::Instruction* x) { return is_product_fusion(*x); }));
}

std::vector<Tensor> arguments_of(const hlo::Module& module) {
  RandomStream random(51);
  std::vector<Tensor> arguments;
  for (int i = 0; i < module.entry().num_parameters(); ++i)
    arguments.push_back(testing::random_tensor(random, module.entry().parameter(i).type(), -1, 1));
  return arguments;
}

TEST(EpilogueFusion, JoinsTheStepsAfterAProduct) {
  if (!host_has_avx512()) GTEST_SKIP() << "this host has no AVX-512";
  for (const char* const text : {kDenseLayer, kConvolutionLayer}) {
    const auto module = hlo::parse(text);
    EXPECT_TRUE(EpilogueFusion().run(*module));
    hlo::DeadCodeElimination().run(*module);
    hlo::verify(*module);
    EXPECT_EQ(count_product_fusions(*module), 1);
    EXPECT_TRUE(module->entry().results()[0].def->is(hlo::Opcode::fusion)) << hlo::print(*module);
    EXPECT_FALSE(EpilogueFusion().run(*module));
  }
}

TEST(EpilogueFusion, KeepsTheValues) {
  for (const char* const text : {kDenseLayer, kConvolutionLayer}) {
    const auto module = hlo::parse(text);
    EXPECT_EQ(testing::check(*module, arguments_of(*module), {.of_largest = 6e-6}), "");
  }
}

// A step is the end where its value has two users.
TEST(EpilogueFusion, EndsWhereAValueIsUsedAgain) {
  if (!host_has_avx512()) GTEST_SKIP() << "this host has no AVX-512";
  const auto module = hlo::parse(
      R"(func.func public @main(%x: tensor<37x96xf32>, %w: tensor<96x96xf32>, %b: tensor<96xf32>) -> (tensor<37x96xf32>, tensor<37x96xf32>) {
        %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<37x96xf32>, tensor<96x96xf32>) -> tensor<37x96xf32>
        %bias = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<96xf32>) -> tensor<37x96xf32>
        %sum = stablehlo.add %y, %bias : tensor<37x96xf32>
        %r = stablehlo.add %sum, %x : tensor<37x96xf32>
        return %sum, %r : tensor<37x96xf32>, tensor<37x96xf32>
      })");
  EXPECT_TRUE(EpilogueFusion().run(*module));
  hlo::verify(*module);
  EXPECT_EQ(count_product_fusions(*module), 1);
  EXPECT_TRUE(module->entry().results()[0].def->is(hlo::Opcode::fusion));
  EXPECT_TRUE(module->entry().results()[1].def->is(hlo::Opcode::add));
  EXPECT_EQ(testing::check(*module, arguments_of(*module), {.of_largest = 6e-6}), "");
}

// Weights that the program replaces are packed in no layout that is kept.
TEST(EpilogueFusion, LeavesProductsByWeightsThatChange) {
  const auto module = hlo::parse(
      R"(func.func public @main(%x: tensor<37x96xf32>, %w: tensor<96x96xf32> {tf.aliasing_output = 1 : i32}) -> (tensor<37x96xf32>, tensor<96x96xf32>) {
        %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<37x96xf32>, tensor<96x96xf32>) -> tensor<37x96xf32>
        %r = stablehlo.add %y, %x : tensor<37x96xf32>
        %new = stablehlo.add %w, %w : tensor<96x96xf32>
        return %r, %new : tensor<37x96xf32>, tensor<96x96xf32>
      })");
  EXPECT_FALSE(EpilogueFusion().run(*module));
}

}  // namespace
}  // namespace systole::cpu
