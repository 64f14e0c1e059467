// dot_general, convolution.
#include "systole/hlo/ir/builder.h"
#include "systole/hlo/testing/op_case.h"
#include "systole/hlo/testing/run_op.h"

namespace systole::hlo::testing {
namespace {

std::string dot(const std::string& fields) {
  return "{dot_dimension_numbers = #stablehlo.dot<" + fields + ">}";
}
const std::string kMatrixProduct =
    dot("lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]");

// Dimension numbers, then whatever else is given.
std::string conv(const std::string& numbers, const std::string& rest = "",
                 const std::string& groups = "feature_group_count = 1, batch_group_count = 1") {
  return "{dimension_numbers = #stablehlo.conv<" + numbers + ">, " + groups +
         (rest.empty() ? "" : ", " + rest) + "}";
}
const std::string kImages = "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]";

std::string image(const std::string& type) {
  return "dense<[[[[1], [2], [5], [6]], [[3], [4], [7], [8]], [[10], [11], [14], [15]], "
         "[[12], [13], [16], [17]]]]> : tensor<1x4x4x1x" +
         type + ">";
}
const std::string kDilated = "window_strides = array<i64: 4, 4>, lhs_dilation = array<i64: 2, 2>";

const ValueCase kValues[] = {
    {"matrices",
     "dot_general",
     {"dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>",
      "dense<[[1, 0], [0, 1], [2, 2]]> : tensor<3x2xi32>"},
     kMatrixProduct,
     {"dense<[[7, 8], [16, 17]]> : tensor<2x2xi32>"}},
    {"many_columns_and_terms",
     "dot_general",
     {"dense<[[1, 2, 3, 4, 5]]> : tensor<1x5xi8>",
      "dense<[[1, 2], [3, 4], [5, 6], [7, 8], [9, 10]]> : tensor<5x2xi8>"},
     kMatrixProduct,
     {"dense<[[95, 110]]> : tensor<1x2xi8>"}},
    {"batched",
     "dot_general",
     {"dense<[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]> : tensor<2x2x2xi64>",
      "dense<[[[1, 0], [0, 1]], [[0, 1], [1, 0]]]> : tensor<2x2x2xi64>"},
     dot("lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], "
         "lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]"),
     {"dense<[[[1, 2], [3, 4]], [[6, 5], [8, 7]]]> : tensor<2x2x2xi64>"}},
    // lhs[k, b, m], rhs[n, k, b]: result[b, m, n].
    {"axes_in_another_order",
     "dot_general",
     {"dense<[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]> : tensor<2x2x2xi64>",
      "dense<[[[1, 10], [100, 1000]]]> : tensor<1x2x2xi64>"},
     dot("lhs_batching_dimensions = [1], rhs_batching_dimensions = [2], "
         "lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [1]"),
     {"dense<[[[501], [602]], [[7030], [8040]]]> : tensor<2x2x1xi64>"}},
    {"two_contractions",
     "dot_general",
     {"dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>", "dense<[[5, 6], [7, 8]]> : tensor<2x2xi32>"},
     dot("lhs_contracting_dimensions = [0, 1], rhs_contracting_dimensions = [1, 0]"),
     {"dense<69> : tensor<i32>"}},
    {"outer_product",
     "dot_general",
     {"dense<[1, 2]> : tensor<2xi32>", "dense<[3, 4, 5]> : tensor<3xi32>"},
     dot(""),
     {"dense<[[3, 4, 5], [6, 8, 10]]> : tensor<2x3xi32>"}},
    {"nothing_to_sum",
     "dot_general",
     {"dense<> : tensor<2x0xf32>", "dense<> : tensor<0x1xf32>"},
     kMatrixProduct,
     {"dense<0.0> : tensor<2x1xf32>"}},
    {"any_number_of_empty_batches",
     "dot_general",
     {"dense<> : tensor<1152921504606846976x0x1xf32>",
      "dense<> : tensor<1152921504606846976x1x0xf32>"},
     dot("lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], "
         "lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]"),
     {"dense<> : tensor<1152921504606846976x0x0xf32>"}},
    {"wraps",
     "dot_general",
     {"dense<[[100, 100]]> : tensor<1x2xi8>", "dense<[[1], [1]]> : tensor<2x1xi8>"},
     kMatrixProduct,
     {"dense<-56> : tensor<1x1xi8>"}},
    {"preferred_s32",
     "dot_general",
     {"dense<[[100, 100]]> : tensor<1x2xi8>", "dense<[[100], [100]]> : tensor<2x1xi8>"},
     kMatrixProduct,
     {"dense<20000> : tensor<1x1xi32>"}},
    // 256 + 1 + 1 is 256 when each step rounds to bf16.
    {"bf16_rounds_once",
     "dot_general",
     {"dense<[[256.0, 1.0, 1.0]]> : tensor<1x3xbf16>", "dense<1.0> : tensor<3x1xbf16>"},
     kMatrixProduct,
     {"dense<258.0> : tensor<1x1xbf16>"}},
    {"preferred_f32",
     "dot_general",
     {"dense<[[256.0, 1.0]]> : tensor<1x2xbf16>", "dense<1.0> : tensor<2x1xbf16>"},
     kMatrixProduct,
     {"dense<257.0> : tensor<1x1xf32>"}},
    {"pred",
     "dot_general",
     {"dense<[[true, false], [false, false]]> : tensor<2x2xi1>", "dense<true> : tensor<2x1xi1>"},
     kMatrixProduct,
     {"dense<[[true], [false]]> : tensor<2x1xi1>"}},
    {"complex",
     "dot_general",
     {"dense<[[(1.0, 1.0), (0.0, 2.0)]]> : tensor<1x2xcomplex<f32>>",
      "dense<[[(1.0, -1.0)], [(0.0, 1.0)]]> : tensor<2x1xcomplex<f32>>"},
     kMatrixProduct,
     {"dense<(0.0, 0.0)> : tensor<1x1xcomplex<f32>>"}},

    {"dilated",
     "convolution",
     {image("i64"), "dense<1> : tensor<3x3x1x1xi64>"},
     conv(kImages, kDilated),
     {"dense<[[[[10], [26]], [[46], [62]]]]> : tensor<1x2x2x1xi64>"}},
    {"preferred_s32",
     "convolution",
     {image("i8"), "dense<10> : tensor<3x3x1x1xi8>"},
     conv(kImages, kDilated),
     {"dense<[[[[100], [260]], [[460], [620]]]]> : tensor<1x2x2x1xi32>"}},
    {"padded",
     "convolution",
     {image("i64"), "dense<1> : tensor<3x3x1x1xi64>"},
     conv(kImages, kDilated + ", padding = dense<1> : tensor<2x2xi64>"),
     {"dense<[[[[1], [5]], [[10], [14]]]]> : tensor<1x2x2x1xi64>"}},
    {"negative_padding",
     "convolution",
     {image("i64"), "dense<1> : tensor<1x1x1x1xi64>"},
     conv(kImages, "padding = dense<[[-1, -2], [0, -3]]> : tensor<2x2xi64>"),
     {"dense<[[[[3]]]]> : tensor<1x1x1x1xi64>"}},
    {"batch_groups",
     "convolution",
     {image("i64"), "dense<1> : tensor<1x2x1x4xi64>"},
     conv("[0, b, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", kDilated,
          "feature_group_count = 1, batch_group_count = 4"),
     {"dense<[[[[1, 3, 10, 12], [5, 7, 14, 16]]]]> : tensor<1x1x2x4xi64>"}},
    {"feature_groups",
     "convolution",
     {image("i64"), "dense<1> : tensor<1x2x1x4xi64>"},
     conv("[b, 0, f, 1]x[0, i, 1, o]->[b, 0, 1, f]", kDilated,
          "feature_group_count = 2, batch_group_count = 1"),
     {"dense<[[[[3, 3, 11, 11]], [[21, 21, 29, 29]]]]> : tensor<1x2x1x4xi64>"}},
    // [1 2 3 4] * [1 10]: 21 32 43; dilated by 2: 31 42; reversed: 12 23 34.
    {"one_axis",
     "convolution",
     {"dense<[[[1, 2, 3, 4]]]> : tensor<1x1x4xi64>", "dense<[[[1, 10]]]> : tensor<1x1x2xi64>"},
     conv("[b, f, 0]x[o, i, 0]->[b, f, 0]"),
     {"dense<[[[21, 32, 43]]]> : tensor<1x1x3xi64>"}},
    {"kernel_dilation",
     "convolution",
     {"dense<[[[1, 2, 3, 4]]]> : tensor<1x1x4xi64>", "dense<[[[1, 10]]]> : tensor<1x1x2xi64>"},
     conv("[b, f, 0]x[o, i, 0]->[b, f, 0]", "rhs_dilation = array<i64: 2>"),
     {"dense<[[[31, 42]]]> : tensor<1x1x2xi64>"}},
    {"window_reversal",
     "convolution",
     {"dense<[[[1, 2, 3, 4]]]> : tensor<1x1x4xi64>", "dense<[[[1, 10]]]> : tensor<1x1x2xi64>"},
     conv("[b, f, 0]x[o, i, 0]->[b, f, 0]", "window_reversal = array<i1: true>"),
     {"dense<[[[12, 23, 34]]]> : tensor<1x1x3xi64>"}},
    {"no_spatial_axis",
     "convolution",
     {"dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>", "dense<[[1], [10]]> : tensor<2x1xi64>"},
     conv("[b, f]x[i, o]->[f, b]"),
     {"dense<[[21, 43]]> : tensor<1x2xi64>"}},
    {"window_too_large",
     "convolution",
     {"dense<1.0> : tensor<1x2x1xf32>", "dense<1.0> : tensor<3x1x1xf32>"},
     conv("[b, 0, f]x[0, i, o]->[b, 0, f]"),
     {"dense<> : tensor<1x0x1xf32>"}},
    {"bf16_rounds_once",
     "convolution",
     {"dense<[[[256.0], [1.0], [1.0]]]> : tensor<1x3x1xbf16>", "dense<1.0> : tensor<3x1x1xbf16>"},
     conv("[b, 0, f]x[0, i, o]->[b, 0, f]"),
     {"dense<258.0> : tensor<1x1x1xbf16>"}},
};

ErrorCase dot_error(const std::string& name, const std::string& fields, const std::string& error,
                    const std::string& rhs = "tensor<3x4xf32>",
                    const std::string& result = "tensor<2x4xf32>") {
  return {name, "dot_general", {"tensor<2x3xf32>", rhs}, dot(fields), {result}, error};
}

ErrorCase conv_error(const std::string& name, const std::string& body, const std::string& error,
                     const std::string& lhs = "tensor<2x5x5x4xf32>",
                     const std::string& rhs = "tensor<3x3x4x6xf32>") {
  return {name, "convolution", {lhs, rhs}, body, {"tensor<2x3x3x6xf32>"}, error};
}

const std::string kContract = "lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]";

const ErrorCase kErrors[] = {
    dot_error("c1_count", "lhs_batching_dimensions = [0]",
              "dot_general: rhs_batching_dimensions, got 0 values, expected 1"),
    dot_error("c2_count", "rhs_contracting_dimensions = [0]",
              "dot_general: rhs_contracting_dimensions, got 1 values, expected 0"),
    dot_error("c3_twice",
              "lhs_contracting_dimensions = [1, 1], rhs_contracting_dimensions = [0, 1]",
              "dot_general: lhs_batching and contracting dimensions, got [1, 1]"),
    dot_error("c4_twice",
              "lhs_contracting_dimensions = [0, 1], rhs_contracting_dimensions = [0, 0]",
              "dot_general: rhs_batching and contracting dimensions, got [0, 0]"),
    dot_error("c5_range", "lhs_batching_dimensions = [2], rhs_batching_dimensions = [0]",
              "dot_general: lhs_batching_dimensions, got [2], expected axes in [0, 2)"),
    dot_error("c6_range", "lhs_contracting_dimensions = [-1], rhs_contracting_dimensions = [0]",
              "dot_general: lhs_contracting_dimensions, got [-1], expected axes in [0, 2)"),
    dot_error("c7_range", "lhs_batching_dimensions = [0], rhs_batching_dimensions = [2]",
              "dot_general: rhs_batching_dimensions, got [2], expected axes in [0, 2)"),
    dot_error("c8_range", "lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [2]",
              "dot_general: rhs_contracting_dimensions, got [2], expected axes in [0, 2)"),
    dot_error("c9_size", "lhs_batching_dimensions = [0], rhs_batching_dimensions = [0]",
              "dot_general: sizes of batching dimension 0, got 2 and 3"),
    dot_error("c10_size", kContract, "dot_general: sizes of contracting dimension 0, got 3 and 4",
              "tensor<4x4xf32>"),
    dot_error("c12_shape", kContract,
              "dot_general: declared result types, got (f32[4,2]), expected (f32[2,4])",
              "tensor<3x4xf32>", "tensor<4x2xf32>"),
    dot_error("c13_dtype", kContract, "dot_general: element type of rhs, got c64, expected f32",
              "tensor<3x4xcomplex<f32>>"),
    dot_error("complex_result", kContract,
              "dot_general: element type of result, got c64 for operands of f32", "tensor<3x4xf32>",
              "tensor<2x4xcomplex<f32>>"),

    conv_error("c1_rank", conv(kImages), "convolution: ranks, got f32[2,5,5,4] and f32[3,4,6]",
               "tensor<2x5x5x4xf32>", "tensor<3x4x6xf32>"),
    conv_error("c2_count", conv(kImages, "window_strides = array<i64: 1>"),
               "convolution: window_strides, got 1 values, expected 2"),
    conv_error("c3_positive", conv(kImages, "window_strides = array<i64: 1, 0>"),
               "convolution: window_strides, got [1, 0], expected values >= 1"),
    conv_error("c4_count", conv(kImages, "padding = dense<0> : tensor<3x2xi64>"),
               "convolution: padding, got 3 values, expected 2"),
    conv_error("c5_count", conv(kImages, "lhs_dilation = array<i64: 1>"),
               "convolution: lhs_dilation, got 1 values, expected 2"),
    conv_error("c6_positive", conv(kImages, "lhs_dilation = array<i64: 0, 1>"),
               "convolution: lhs_dilation, got [0, 1], expected values >= 1"),
    conv_error("c7_count", conv(kImages, "rhs_dilation = array<i64: 1>"),
               "convolution: rhs_dilation, got 1 values, expected 2"),
    conv_error("c8_positive", conv(kImages, "rhs_dilation = array<i64: 1, -2>"),
               "convolution: rhs_dilation, got [1, -2], expected values >= 1"),
    conv_error("c9_count", conv(kImages, "window_reversal = array<i1: true>"),
               "convolution: window_reversal, got 1 values, expected 2"),
    conv_error("c10_batch", conv(kImages, "", "feature_group_count = 1, batch_group_count = 3"),
               "convolution: batch, got 2, expected a multiple of batch_group_count 3"),
    conv_error("c11_features", conv(kImages, "", "feature_group_count = 3, batch_group_count = 1"),
               "convolution: input features, got 4, expected a multiple of feature_group_count 3"),
    conv_error("kernel_size", conv(kImages),
               "convolution: spatial sizes of the kernel, got [0, 3], expected values >= 1",
               "tensor<2x5x5x4xf32>", "tensor<0x3x4x6xf32>"),
    conv_error("c12_count", conv("[b, 0, f]x[0, 1, i, o]->[b, 0, 1, f]"),
               "convolution: input_spatial_dimensions, got 1 values, expected 2"),
    conv_error("c14_features", conv(kImages),
               "convolution: kernel input features, got 2, expected 4", "tensor<2x5x5x4xf32>",
               "tensor<3x3x2x6xf32>"),
    conv_error("c15_outputs", conv(kImages, "", "feature_group_count = 1, batch_group_count = 2"),
               "convolution: output features, got 5, expected a multiple of batch_group_count 2",
               "tensor<2x5x5x4xf32>", "tensor<3x3x4x5xf32>"),
    conv_error("c16_outputs", conv(kImages, "", "feature_group_count = 2, batch_group_count = 1"),
               "convolution: output features, got 5, expected a multiple of feature_group_count 2",
               "tensor<2x5x5x4xf32>", "tensor<3x3x2x5xf32>"),
    conv_error("c17_count", conv("[b, 0, 1, f]x[0, 1, 2, i, o]->[b, 0, 1, f]"),
               "convolution: kernel_spatial_dimensions, got 3 values, expected 2"),
    conv_error("c19_count", conv("[b, 0, 1, f]x[0, 1, i, o]->[b, f]"),
               "convolution: output_spatial_dimensions, got 0 values, expected 2"),
    conv_error("c21_positive", conv(kImages, "", "feature_group_count = 0, batch_group_count = 1"),
               "convolution: feature_group_count, got [0], expected values >= 1"),
    conv_error("c22_positive", conv(kImages, "", "feature_group_count = 1, batch_group_count = -1"),
               "convolution: batch_group_count, got [-1], expected values >= 1"),
    conv_error("c23_both", conv(kImages, "", "feature_group_count = 2, batch_group_count = 2"),
               "convolution: feature_group_count and batch_group_count, got 2 and 2"),
    conv_error("c25_shape", conv(kImages, "window_strides = array<i64: 2, 2>"),
               "convolution: declared result types, got (f32[2,3,3,6]), expected (f32[2,2,2,6])"),
    conv_error("c27_dtype", conv(kImages),
               "convolution: element type of rhs, got c64, expected f32", "tensor<2x5x5x4xf32>",
               "tensor<3x3x4x6xcomplex<f32>>"),
    conv_error("c27_complex", conv(kImages),
               "convolution: element type of result, got f32 for operands of c64",
               "tensor<2x5x5x4xcomplex<f32>>", "tensor<3x3x4x6xcomplex<f32>>"),
};

// What the text form cannot say: an axis twice, or out of range.
TEST(Convolution, AxesAreAPermutation) {
  struct Case {
    std::string label;
    void (*spoil)(ConvolutionAttrs&);
    std::string error;
  };
  const Case cases[] = {
      {"c13_twice", [](ConvolutionAttrs& a) { a.input_feature_dimension = 0; },
       "convolution: input_dimensions, got [0, 0, 1], expected no value twice"},
      {"c13_range", [](ConvolutionAttrs& a) { a.input_batch_dimension = 3; },
       "convolution: input_dimensions, got [3, 2, 1], expected axes in [0, 3)"},
      {"c18_twice", [](ConvolutionAttrs& a) { a.kernel_spatial_dimensions = {2}; },
       "convolution: kernel_dimensions, got [1, 2, 2], expected no value twice"},
      {"c18_range", [](ConvolutionAttrs& a) { a.kernel_input_feature_dimension = -1; },
       "convolution: kernel_dimensions, got [-1, 2, 0], expected axes in [0, 3)"},
      {"c20_twice", [](ConvolutionAttrs& a) { a.output_batch_dimension = 1; },
       "convolution: output_dimensions, got [1, 2, 1], expected no value twice"},
      {"c20_range", [](ConvolutionAttrs& a) { a.output_spatial_dimensions = {5}; },
       "convolution: output_dimensions, got [0, 2, 5], expected axes in [0, 3)"},
  };
  for (const Case& c : cases) {
    ConvolutionAttrs attrs{.window_strides = {1},
                           .padding = {{0, 0}},
                           .lhs_dilation = {1},
                           .rhs_dilation = {1},
                           .window_reversal = {false},
                           .input_feature_dimension = 2,
                           .input_spatial_dimensions = {1},
                           .kernel_input_feature_dimension = 1,
                           .kernel_output_feature_dimension = 2,
                           .kernel_spatial_dimensions = {0},
                           .output_feature_dimension = 2,
                           .output_spatial_dimensions = {1}};
    c.spoil(attrs);
    const OpUnderTest op{
        .opcode = Opcode::convolution,
        .operands = {Tensor::zeros(DType::f32, {1, 4, 1}), Tensor::zeros(DType::f32, {2, 1, 1})},
        .attrs = attrs};
    EXPECT_EQ(error_of(op), "INVALID_ARGUMENT: " + c.error) << c.label;
  }
}

INSTANTIATE_TEST_SUITE_P(Products, OpValue, ::testing::ValuesIn(kValues), row_name<ValueCase>);
INSTANTIATE_TEST_SUITE_P(Products, OpError, ::testing::ValuesIn(kErrors), row_name<ErrorCase>);

}  // namespace
}  // namespace systole::hlo::testing
