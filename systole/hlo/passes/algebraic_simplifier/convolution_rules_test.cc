#include <gtest/gtest.h>

#include <array>

#include "systole/hlo/passes/algebraic_simplifier/rules.h"
#include "systole/hlo/testing/rule_case.h"

namespace systole::hlo {
namespace {

using testing::check_rules;
using testing::RuleCase;
using P = std::span<const Value>;

const TensorType kImage{DType::f32, {2, 3, 4, 1}};   // [b, 0, 1, f]
const TensorType kTurned{DType::f32, {1, 2, 3, 4}};  // [f, b, 0, 1]
const TensorType kKernel{DType::f32, {2, 2, 1, 2}};  // [0, 1, i, o]

struct Amounts {
  Dims low, high, interior;
};

Value zeros_around(Builder& b, Value x, const Amounts& amounts, double zero = 0) {
  return b.pad(x, b.scalar(DType::f32, zero), amounts.low, amounts.high, amounts.interior);
}

Value convolution(Builder& b, Value image, Value kernel, const Dims& result) {
  ConvolutionAttrs attrs;
  attrs.window_strides = {1, 1};
  attrs.padding = {{0, 0}, {0, 0}};
  attrs.lhs_dilation = {1, 1};
  attrs.rhs_dilation = {1, 1};
  attrs.window_reversal = {false, false};
  attrs.input_batch_dimension = 0;
  attrs.input_feature_dimension = 3;
  attrs.input_spatial_dimensions = {1, 2};
  attrs.kernel_input_feature_dimension = 2;
  attrs.kernel_output_feature_dimension = 3;
  attrs.kernel_spatial_dimensions = {0, 1};
  attrs.output_batch_dimension = 0;
  attrs.output_feature_dimension = 3;
  attrs.output_spatial_dimensions = {1, 2};
  return b.op(Opcode::convolution, {image, kernel}, attrs, {TensorType{DType::f32, Shape(result)}})
      ->result();
}

const RuleCase kCases[] = {
    {"convolution_of_padded_input",
     {kImage, kKernel},
     [](Builder& b, P p) {
       const Value x = zeros_around(b, p[0], {{0, 1, 0, 0}, {0, 0, 2, 0}, {0, 1, 2, 0}});
       return convolution(b, x, p[1], {2, 5, 11, 2});
     },
     "convolution(p0, p1)"},
    {"convolution_of_padded_input",
     {kTurned, kKernel},
     [](Builder& b, P p) {
       const Value x = zeros_around(b, p[0], {{0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 1, 1}});
       return convolution(b, b.transpose(x, {1, 2, 3, 0}), p[1], {2, 4, 6, 2});
     },
     "convolution(transpose{1,2,3,0}(p0), p1)"},
    // Padded features; other numbers than 0; edges that are cut off.
    {"convolution_of_padded_input",
     {{DType::f32, {2, 3, 4, 0}}, kKernel},
     [](Builder& b, P p) {
       const Value x = zeros_around(b, p[0], {{0, 0, 0, 1}, {0, 0, 0, 0}, {0, 0, 0, 0}});
       return convolution(b, x, p[1], {2, 2, 3, 2});
     }},
    {"convolution_of_padded_input",
     {kImage, kKernel},
     [](Builder& b, P p) {
       const Value x = zeros_around(b, p[0], {{0, 0, 0, 0}, {0, 0, 0, 0}, {0, 1, 1, 0}}, 1);
       return convolution(b, x, p[1], {2, 4, 6, 2});
     }},
    {"convolution_of_padded_input",
     {kImage, kKernel},
     [](Builder& b, P p) {
       const Value x = zeros_around(b, p[0], {{0, -1, 0, 0}, {0, 0, 0, 0}, {0, 1, 1, 0}});
       return convolution(b, x, p[1], {2, 3, 6, 2});
     }},

    {"convolution_of_padded_kernel",
     {kImage, kKernel},
     [](Builder& b, P p) {
       const Value k = zeros_around(b, p[1], {{0, 0, 0, 0}, {0, 0, 0, 0}, {1, 2, 0, 0}});
       return convolution(b, p[0], k, {2, 1, 1, 2});
     },
     "convolution(p0, p1)"},
    {"convolution_of_padded_kernel",
     {kImage, kKernel},
     [](Builder& b, P p) {
       const Value k = zeros_around(b, p[1], {{1, 0, 0, 0}, {0, 0, 0, 0}, {0, 2, 0, 0}});
       return convolution(b, p[0], k, {2, 1, 1, 2});
     }},
};

TEST(ConvolutionRules, Cases) {
  // Zero times infinity is NaN: what a hole hides is not multiplied.
  constexpr std::array<std::string_view, 2> kInexact = {"convolution_of_padded_input",
                                                        "convolution_of_padded_kernel"};
  EXPECT_EQ(check_rules(convolution_rules(), kCases, kInexact), "");
}

}  // namespace
}  // namespace systole::hlo
