#include <gtest/gtest.h>

#include "systole/backends/cpu/testing/compare.h"

namespace systole::cpu {
namespace {

using hlo::Opcode;

testing::Tolerance product_tolerance(DType dtype) {
  return {.ulps = is_floating(dtype) ? 2.0 : 0,
          .of_largest = dtype == DType::f32   ? 2e-6
                        : dtype == DType::f64 ? 1e-14
                                              : 0};
}

struct DotCase {
  Shape lhs, rhs;
  hlo::DotAttrs attrs;
};

// Small ones are loops, large ones oneDNN or blocks; every arrangement of axes.
const std::vector<DotCase>& dot_cases() {
  static const std::vector<DotCase> cases = {
      {{1, 5}, {5, 256}, {{}, {}, {1}, {0}}},
      {{1, 256}, {256, 3}, {{}, {}, {1}, {0}}},
      {{256, 3}, {1, 3}, {{}, {}, {1}, {1}}},
      {{1, 256}, {1, 3}, {{}, {}, {0}, {0}}},
      {{7, 9}, {9, 11}, {{}, {}, {1}, {0}}},
      {{9, 7}, {9, 11}, {{}, {}, {0}, {0}}},
      {{9, 7}, {11, 9}, {{}, {}, {0}, {1}}},
      {{40, 50}, {50, 60}, {{}, {}, {1}, {0}}},
      {{50, 40}, {60, 50}, {{}, {}, {0}, {1}}},
      {{3, 20, 40}, {3, 40, 50}, {{0}, {0}, {2}, {1}}},
      {{20, 3, 40}, {40, 3, 50}, {{1}, {1}, {2}, {0}}},
      {{4, 6, 5, 7}, {7, 4, 9, 6}, {{0, 1}, {1, 3}, {3}, {0}}},
      {{12, 10, 14}, {14, 10, 30}, {{}, {}, {2, 1}, {0, 1}}},
      {{12, 10, 14}, {10, 14, 30}, {{}, {}, {1, 2}, {0, 1}}},
      {{33}, {33}, {{}, {}, {0}, {0}}},
      {{40, 1}, {1, 60}, {{}, {}, {1}, {0}}},
      {{5, 0}, {0, 4}, {{}, {}, {1}, {0}}},
      {{1, 700}, {700, 90}, {{}, {}, {1}, {0}}},
      {{20, 140}, {140, 30}, {{}, {}, {1}, {0}}},
      {{270, 10}, {10, 250}, {{}, {}, {1}, {0}}},
      {{2, 3, 40, 9}, {40, 3, 40, 2}, {{0, 1}, {3, 1}, {2}, {2}}},
  };
  return cases;
}

TEST(Product, OfMatrices) {
  RandomStream random(51);
  for (const DType dtype : {DType::s8, DType::s32, DType::u64, DType::u16, DType::f16, DType::bf16,
                            DType::f32, DType::f64}) {
    for (const DotCase& c : dot_cases()) {
      const std::vector<Tensor> operands = {testing::random_tensor(random, {dtype, c.lhs}, -3, 3),
                                            testing::random_tensor(random, {dtype, c.rhs}, -3, 3)};
      EXPECT_EQ(
          testing::check({.opcode = Opcode::dot_general, .operands = operands, .attrs = c.attrs},
                         product_tolerance(dtype)),
          "")
          << testing::words(dtype, c.lhs, c.rhs);
    }
  }
}

TEST(Product, OfNarrowElementsIntoWide) {
  RandomStream random(52);
  for (const auto& [from, to] :
       {std::pair{DType::bf16, DType::f32}, {DType::s8, DType::s32}, {DType::f16, DType::f32}}) {
    const std::vector<Tensor> operands = {testing::random_tensor(random, {from, {40, 50}}, -3, 3),
                                          testing::random_tensor(random, {from, {50, 60}}, -3, 3)};
    EXPECT_EQ(testing::check({.opcode = Opcode::dot_general,
                              .operands = operands,
                              .attrs = hlo::DotAttrs{{}, {}, {1}, {0}},
                              .declared = {{to, {40, 60}}}},
                             product_tolerance(to)),
              "")
        << testing::words(from);
  }
}

// NHWC, HWIO.
hlo::ConvolutionAttrs nhwc() {
  hlo::ConvolutionAttrs a;
  a.input_batch_dimension = 0;
  a.input_feature_dimension = 3;
  a.input_spatial_dimensions = {1, 2};
  a.kernel_input_feature_dimension = 2;
  a.kernel_output_feature_dimension = 3;
  a.kernel_spatial_dimensions = {0, 1};
  a.output_batch_dimension = 0;
  a.output_feature_dimension = 3;
  a.output_spatial_dimensions = {1, 2};
  a.window_strides = {1, 1};
  a.padding = {{0, 0}, {0, 0}};
  a.lhs_dilation = {1, 1};
  a.rhs_dilation = {1, 1};
  a.window_reversal = {false, false};
  return a;
}

void expect_convolution(const Shape& input, const Shape& kernel,
                        const hlo::ConvolutionAttrs& attrs) {
  RandomStream random(53);
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16, DType::s32, DType::f64}) {
    const std::vector<Tensor> operands = {testing::random_tensor(random, {dtype, input}, -2, 2),
                                          testing::random_tensor(random, {dtype, kernel}, -2, 2)};
    EXPECT_EQ(testing::check({.opcode = Opcode::convolution, .operands = operands, .attrs = attrs},
                             product_tolerance(dtype)),
              "")
        << testing::words(dtype);
  }
}

TEST(Product, OfImagesAndKernels) {
  hlo::ConvolutionAttrs a = nhwc();
  expect_convolution({2, 9, 10, 3}, {3, 3, 3, 16}, a);
  a.padding = {{1, 1}, {2, 1}};
  a.window_strides = {2, 1};
  expect_convolution({2, 9, 10, 16}, {3, 4, 16, 32}, a);
  a.rhs_dilation = {2, 1};
  expect_convolution({2, 9, 10, 3}, {3, 3, 3, 5}, a);
}

TEST(Product, OfGroups) {
  hlo::ConvolutionAttrs a = nhwc();
  a.padding = {{1, 1}, {1, 1}};
  a.feature_group_count = 4;
  expect_convolution({2, 6, 7, 8}, {3, 3, 2, 12}, a);
  a.feature_group_count = 8;  // depthwise
  expect_convolution({2, 6, 7, 8}, {3, 3, 1, 16}, a);
  a.feature_group_count = 1;
  a.batch_group_count = 2;
  expect_convolution({4, 6, 7, 3}, {3, 3, 3, 6}, a);
}

TEST(Product, IsTheGradientByTheImage) {
  hlo::ConvolutionAttrs a = nhwc();
  a.kernel_input_feature_dimension = 3;
  a.kernel_output_feature_dimension = 2;
  a.padding = {{2, 2}, {2, 2}};
  a.window_reversal = {true, true};
  expect_convolution({2, 7, 8, 32}, {3, 3, 16, 32}, a);
  a.window_reversal = {false, false};
  a.lhs_dilation = {2, 2};
  a.padding = {{1, 2}, {2, 2}};
  expect_convolution({2, 7, 8, 8}, {3, 3, 16, 8}, a);
  a.window_reversal = {true, false};
  expect_convolution({2, 4, 5, 8}, {3, 3, 16, 8}, a);
}

TEST(Product, IsTheGradientByTheKernel) {
  hlo::ConvolutionAttrs a = nhwc();
  a.input_batch_dimension = 3;
  a.input_feature_dimension = 0;
  a.kernel_input_feature_dimension = 0;
  a.kernel_output_feature_dimension = 3;
  a.kernel_spatial_dimensions = {1, 2};
  a.output_batch_dimension = 2;
  a.output_feature_dimension = 3;
  a.output_spatial_dimensions = {0, 1};
  a.padding = {{1, 1}, {1, 1}};
  expect_convolution({4, 9, 10, 16}, {4, 9, 10, 32}, a);
  a.rhs_dilation = {2, 2};
  a.padding = {{1, 0}, {1, 1}};
  expect_convolution({4, 9, 9, 3}, {4, 4, 4, 8}, a);
}

TEST(Product, OfOneAndThreeDimensions) {
  hlo::ConvolutionAttrs a;
  a.input_batch_dimension = 0;
  a.input_feature_dimension = 1;
  a.input_spatial_dimensions = {2};
  a.kernel_output_feature_dimension = 0;
  a.kernel_input_feature_dimension = 1;
  a.kernel_spatial_dimensions = {2};
  a.output_batch_dimension = 0;
  a.output_feature_dimension = 1;
  a.output_spatial_dimensions = {2};
  const auto plain = [&](size_t rank) {
    a.window_strides = a.lhs_dilation = a.rhs_dilation = Dims(rank, 1);
    a.padding.assign(rank, {1, 0});
    a.window_reversal.assign(rank, false);
  };
  plain(1);
  expect_convolution({2, 3, 20}, {5, 3, 4}, a);
  plain(3);
  a.input_spatial_dimensions = a.kernel_spatial_dimensions =
      a.output_spatial_dimensions = {2, 3, 4};
  expect_convolution({2, 3, 5, 6, 4}, {5, 3, 2, 3, 2}, a);
}

}  // namespace
}  // namespace systole::cpu
