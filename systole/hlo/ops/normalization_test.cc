// batch_norm_inference, batch_norm_training, batch_norm_grad.
#include "systole/hlo/testing/op_case.h"

namespace systole::hlo::testing {
namespace {

const std::string kLastAxis = "{epsilon = 0.0 : f32, feature_index = 2 : i64}";
const std::string kX =
    "dense<[[[1.0, 2.0], [3.0, 4.0]], [[3.0, 4.0], [1.0, 2.0]]]> : tensor<2x2x2xf64>";
const std::string kOnes = "dense<1.0> : tensor<2xf64>";
const std::string kMean = "dense<[2.0, 3.0]> : tensor<2xf64>";
const std::string kNormalized =
    "dense<[[[0.0, 0.0], [2.0, 2.0]], [[2.0, 2.0], [0.0, 0.0]]]> : tensor<2x2x2xf64>";

const ValueCase kValues[] = {
    {"last_axis",
     "batch_norm_inference",
     {kX, kOnes, kOnes, kMean, kOnes},
     kLastAxis,
     {kNormalized}},
    // 3 (x - 1) / sqrt(3 + 1) + 5
    {"scale_offset_and_epsilon",
     "batch_norm_inference",
     {"dense<[[1.0, 3.0], [5.0, -1.0]]> : tensor<2x2xbf16>", "dense<[3.0, 1.0]> : tensor<2xbf16>",
      "dense<[5.0, 0.0]> : tensor<2xbf16>", "dense<[1.0, 0.0]> : tensor<2xbf16>",
      "dense<[3.0, 0.0]> : tensor<2xbf16>"},
     "{epsilon = 1.0 : f32, feature_index = 0 : i64}",
     {"dense<[[5.0, 8.0], [5.0, -1.0]]> : tensor<2x2xbf16>"}},
    {"last_axis",
     "batch_norm_training",
     {kX, kOnes, kOnes},
     kLastAxis,
     {kNormalized, kMean, kOnes}},
    {"first_axis",  // means 2 and 6, variances 1 and 9, deviations with epsilon 2 and sqrt(12)
     "batch_norm_training",
     {"dense<[[1.0, 3.0], [2.0, 10.0]]> : tensor<2x2xf32>", "dense<[2.0, 0.0]> : tensor<2xf32>",
      "dense<[1.0, 7.0]> : tensor<2xf32>"},
     "{epsilon = 3.0 : f32, feature_index = 0 : i64}",
     {"dense<[[0.0, 2.0], [7.0, 7.0]]> : tensor<2x2xf32>", "dense<[2.0, 6.0]> : tensor<2xf32>",
      "dense<[1.0, 16.0]> : tensor<2xf32>"}},
    {"equal_grads",
     "batch_norm_grad",
     {kX, kOnes, kMean, kOnes, "dense<0.5> : tensor<2x2x2xf64>"},
     kLastAxis,
     {"dense<0.0> : tensor<2x2x2xf64>", "dense<0.0> : tensor<2xf64>",
      "dense<2.0> : tensor<2xf64>"}},
    // x = [-1, 1], dy = [1, 0], scale 4, variance 1, epsilon 3. Centered x is x; i3 = -1; i6 =
    // 2 dy - 1 + x / 4 = [3/4, -3/4]; grad = 4 / 2 / 2 * i6.
    {"by_hand",
     "batch_norm_grad",
     {"dense<[[-1.0], [1.0]]> : tensor<2x1xf32>", "dense<4.0> : tensor<1xf32>",
      "dense<0.0> : tensor<1xf32>", "dense<1.0> : tensor<1xf32>",
      "dense<[[1.0], [0.0]]> : tensor<2x1xf32>"},
     "{epsilon = 3.0 : f32, feature_index = 1 : i64}",
     {"dense<[[0.75], [-0.75]]> : tensor<2x1xf32>", "dense<-0.5> : tensor<1xf32>",
      "dense<1.0> : tensor<1xf32>"}},
};

const std::string kF = "tensor<2xf32>";
const std::string kT = "tensor<2x3xf32>";
const std::string kFirst = "{epsilon = 0.0 : f32, feature_index = 0 : i64}";

const ErrorCase kErrors[] = {
    {"c1_axis",
     "batch_norm_inference",
     {kT, kF, kF, kF, kF},
     "{epsilon = 0.0 : f32, feature_index = 2 : i64}",
     {kT},
     "batch_norm_inference: feature_index, got [2], expected axes in [0, 2)"},
    {"c2_element_type",
     "batch_norm_inference",
     {kT, kF, kF, kF, "tensor<2xf64>"},
     kFirst,
     {kT},
     "batch_norm_inference: type of variance, got f64[2], expected f32[2]"},
    {"c3_scale",
     "batch_norm_inference",
     {kT, "tensor<3xf32>", kF, kF, kF},
     kFirst,
     {kT},
     "batch_norm_inference: type of scale, got f32[3], expected f32[2]"},
    {"i1_integers",
     "batch_norm_training",
     {"tensor<2xi32>", "tensor<2xi32>", "tensor<2xi32>"},
     kFirst,
     {"tensor<2xi32>", "tensor<2xi32>", "tensor<2xi32>"},
     "batch_norm_training: element type of operand, got s32, expected floating-point"},
    {"c4_offset",
     "batch_norm_training",
     {kT, kF, "tensor<3xf32>"},
     kFirst,
     {kT, kF, kF},
     "batch_norm_training: type of offset, got f32[3], expected f32[2]"},
    {"c3_grad_output",
     "batch_norm_grad",
     {kT, kF, kF, kF, "tensor<3x2xf32>"},
     kFirst,
     {kT, kF, kF},
     "batch_norm_grad: type of grad_output, got f32[3,2], expected f32[2,3]"},
    {"c4_mean",
     "batch_norm_grad",
     {kT, kF, "tensor<3xf32>", kF, kT},
     kFirst,
     {kT, kF, kF},
     "batch_norm_grad: type of mean, got f32[3], expected f32[2]"},
};

INSTANTIATE_TEST_SUITE_P(Normalization, OpValue, ::testing::ValuesIn(kValues), row_name<ValueCase>);
INSTANTIATE_TEST_SUITE_P(Normalization, OpError, ::testing::ValuesIn(kErrors), row_name<ErrorCase>);

}  // namespace
}  // namespace systole::hlo::testing
