#include "systole/hlo/semantics/cost.h"

#include <gtest/gtest.h>

#include "systole/hlo/passes/fusion.h"
#include "systole/stablehlo/text/text.h"

namespace systole::hlo {
namespace {

std::unique_ptr<Module> program(const std::string& parameters, const std::string& op,
                                const std::string& result) {
  return parse("func.func @main(" + parameters + ") -> " + result +
               " {\n  %z = stablehlo.constant" + " dense<0.0> : tensor<f32>\n  %r = " + op +
               "\n  return %r : " + result + "\n}\n");
}

Cost cost_of_result(const std::string& parameters, const std::string& op,
                    const std::string& result) {
  const auto module = program(parameters, op, result);
  return cost_of(*module->entry().results()[0].def);
}

// A convolution of x and k with these parameter types, dimension numbers and window.
double convolution_flops(const std::string& x, const std::string& k, const std::string& result,
                         const std::string& numbers, const std::string& window, int groups = 1,
                         int batch_groups = 1) {
  const std::string op = fmt::format(
      "stablehlo.convolution(%x, %k) dim_numbers = {}, window = {{{}}} {{batch_group_count = {} : "
      "i64, feature_group_count = {} : i64}} : ({}, {}) -> {}",
      numbers, window, batch_groups, groups, x, k, result);
  const Cost cost = cost_of_result(fmt::format("%x: {}, %k: {}", x, k), op, result);
  EXPECT_EQ(cost.flops, cost.product_flops);
  return cost.flops;
}

constexpr const char* kImages = "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]";

TEST(Cost, OfProducts) {
  EXPECT_EQ(cost_of_result("%a: tensor<2x3xf32>, %b: tensor<3x4xf32>",
                           "stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : "
                           "(tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>",
                           "tensor<2x4xf32>")
                .flops,
            2 * 2 * 3 * 4);
  EXPECT_EQ(cost_of_result("%a: tensor<5x2x3xf32>, %b: tensor<5x3x4xf32>",
                           "stablehlo.dot_general %a, %b, batching_dims = [0] x [0], "
                           "contracting_dims = [2] x [1] : (tensor<5x2x3xf32>, "
                           "tensor<5x3x4xf32>) -> tensor<5x2x4xf32>",
                           "tensor<5x2x4xf32>")
                .flops,
            5 * 2 * 2 * 3 * 4);
}

// Along one axis of 4 elements, 3 kernel elements meet 3 * 4 - 2 of them: the padding is no work.
TEST(Cost, OfConvolutionsLeavesOutPadding) {
  EXPECT_EQ(convolution_flops("tensor<1x4x4x1xf32>", "tensor<3x3x1x1xf32>", "tensor<1x4x4x1xf32>",
                              kImages, "pad = [[1, 1], [1, 1]]"),
            2 * 10 * 10);
}

// One layer: 2 images of 8 x 8 with 3 features to 4 x 4 with 5. Along an axis, the last of 4
// windows of 3 elements has one in the padding: 4 * 3 - 1 = 11 pairs. Both gradients have the same
// pairs.
TEST(Cost, OfAStridedConvolutionIsThatOfItsGradients) {
  constexpr double kFlops = 2.0 * 2 * 3 * 5 * 11 * 11;
  EXPECT_EQ(convolution_flops("tensor<2x8x8x3xf32>", "tensor<3x3x3x5xf32>", "tensor<2x4x4x5xf32>",
                              kImages, "stride = [2, 2], pad = [[0, 1], [0, 1]]"),
            kFlops);
  EXPECT_EQ(convolution_flops("tensor<2x4x4x5xf32>", "tensor<3x3x5x3xf32>", "tensor<2x8x8x3xf32>",
                              kImages, "pad = [[2, 1], [2, 1]], lhs_dilate = [2, 2]"),
            kFlops);
  EXPECT_EQ(convolution_flops("tensor<2x8x8x3xf32>", "tensor<2x4x4x5xf32>", "tensor<3x3x3x5xf32>",
                              "[f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f]",
                              "pad = [[0, 1], [0, 1]], rhs_dilate = [2, 2]"),
            kFlops);
}

TEST(Cost, OfGroupedConvolutions) {
  EXPECT_EQ(convolution_flops("tensor<1x4x4x4xf32>", "tensor<1x1x1x8xf32>", "tensor<1x4x4x8xf32>",
                              kImages, "", 4),
            2 * 16 * 8);
  EXPECT_EQ(convolution_flops("tensor<4x4x4x3xf32>", "tensor<1x1x3x6xf32>", "tensor<2x4x4x6xf32>",
                              kImages, "", 1, 2),
            2 * 2 * 16 * 3 * 6);
}

struct Case {
  const char* parameters;
  const char* op;
  const char* result;
  double flops;
  double transcendentals;
  double bytes_in;
  double bytes_out;
};

constexpr Case kCases[] = {
    {"%x: tensor<10xf32>", "stablehlo.add %x, %x : tensor<10xf32>", "tensor<10xf32>", 10, 0, 40,
     40},
    {"%x: tensor<10xf32>", "stablehlo.tanh %x : tensor<10xf32>", "tensor<10xf32>", 0, 10, 40, 40},
    {"%x: tensor<4x8xf32>",
     "stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1] : "
     "(tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>",
     "tensor<4xf32>", 32 - 4, 0, 4 * 8 * 4 + 4, 16},
    {"%x: tensor<1x4x4x1xf32>",
     R"("stablehlo.reduce_window"(%x, %z) ({
     ^bb0(%a: tensor<f32>, %b: tensor<f32>):
       %m = stablehlo.maximum %a, %b : tensor<f32>
       stablehlo.return %m : tensor<f32>
     }) {window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>} :
     (tensor<1x4x4x1xf32>, tensor<f32>) -> tensor<1x2x2x1xf32>)",
     "tensor<1x2x2x1xf32>", 4 * 3, 0, 64 + 4, 16},
    // A running maximum.
    {"%x: tensor<8xf32>",
     R"("stablehlo.reduce_window"(%x, %z) ({
     ^bb0(%a: tensor<f32>, %b: tensor<f32>):
       %m = stablehlo.maximum %a, %b : tensor<f32>
       stablehlo.return %m : tensor<f32>
     }) {window_dimensions = array<i64: 8>, padding = dense<[[7, 0]]> : tensor<1x2xi64>} :
     (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>)",
     "tensor<8xf32>", 8, 0, 32 + 4, 32},
    {"%x: tensor<8x8xf32>", "stablehlo.slice %x [0:2, 0:8] : (tensor<8x8xf32>) -> tensor<2x8xf32>",
     "tensor<2x8xf32>", 0, 0, 64, 64},
    {"%x: tensor<8x8xf32>, %u: tensor<1x8xf32>, %i: tensor<i32>",
     "stablehlo.dynamic_update_slice %x, %u, %i, %i : (tensor<8x8xf32>, tensor<1x8xf32>, "
     "tensor<i32>, tensor<i32>) -> tensor<8x8xf32>",
     "tensor<8x8xf32>", 0, 0, 32, 32},
    {"%x: tensor<4x8xf32>", "stablehlo.reshape %x : (tensor<4x8xf32>) -> tensor<32xf32>",
     "tensor<32xf32>", 0, 0, 0, 0},
};

TEST(Cost, OfOtherInstructions) {
  for (const Case& c : kCases) {
    const Cost cost = cost_of_result(c.parameters, c.op, c.result);
    EXPECT_EQ(cost.flops, c.flops) << c.op;
    EXPECT_EQ(cost.product_flops, 0) << c.op;
    EXPECT_EQ(cost.transcendentals, c.transcendentals) << c.op;
    EXPECT_EQ(cost.bytes_in, c.bytes_in) << c.op;
    EXPECT_EQ(cost.bytes_out, c.bytes_out) << c.op;
  }
}

TEST(Cost, OfAKernelIsWhatItStates) {
  const auto cost_with = [](const std::string& config) {
    return cost_of_result("%x: tensor<4xf32>",
                          "stablehlo.custom_call @tpu_custom_call(%x) {backend_config = \"" +
                              config + "\"} : (tensor<4xf32>) -> tensor<4xf32>",
                          "tensor<4xf32>");
  };
  const Cost cost = cost_with(
      R"({\22flops\22: 1, \22cost_estimate\22: {\22flops\22: 200, \22transcendentals\22: 30}})");
  EXPECT_EQ(cost.product_flops, 200);
  EXPECT_EQ(cost.operations(), 230);
  EXPECT_EQ(cost.bytes(), 32);
  for (const char* config : {"", "cost_estimate", "cost_estimate flops:", "cost_estimate flops: x",
                             "cost_estimate flops: -5"}) {
    EXPECT_EQ(cost_with(config).operations(), 0) << config;
  }
}

TEST(Cost, OfAFusionIsTheWorkInsideAndTheBytesOutside) {
  const auto module = parse(R"(func.func @main(%x: tensor<10xf32>) -> tensor<10xf32> {
  %a = stablehlo.tanh %x : tensor<10xf32>
  %b = stablehlo.add %a, %x : tensor<10xf32>
  return %b : tensor<10xf32>
})");
  FusionPass().run(*module);
  const Instruction& fusion = *module->entry().results()[0].def;
  ASSERT_TRUE(fusion.is(Opcode::fusion));
  const Cost cost = cost_of(fusion);
  EXPECT_EQ(cost.flops, 10);
  EXPECT_EQ(cost.transcendentals, 10);
  EXPECT_EQ(cost.bytes(), 80);
}

}  // namespace
}  // namespace systole::hlo
