#include "systole/graph/functions/nn_functions.h"

#include <gmock/gmock.h>

#include <cmath>

#include "systole/graph/api/math_ops.h"
#include "systole/graph/gradients/gradients.h"
#include "systole/graph/testing/mini_session.h"

namespace systole {
namespace {

using graph_testing::error_of;
using graph_testing::evaluate;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;

class NnFunctionsTest : public ::testing::Test {
 protected:
  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  GraphScope scope_{*graph_};
  Output x_ = constant(Tensor::of<float>({3}, {-2, 0, 200}));
};

TEST_F(NnFunctionsTest, Activations) {
  EXPECT_THAT(evaluate(log_sigmoid(x_)).data<float>(),
              ElementsAre(FloatNear(-2.126928F, 1e-5F), FloatNear(-0.693147F, 1e-5F), 0));
  EXPECT_THAT(evaluate(swish(x_)).data<float>(), ElementsAre(FloatNear(-0.238406F, 1e-5F), 0, 200));
  EXPECT_THAT(evaluate(crelu(x_)).data<float>(), ElementsAre(0, 0, 200, 2, 0, 0));
  EXPECT_FLOAT_EQ(evaluate(zero_fraction(x_)).item<float>(), 1.0F / 3);
}

// An image of one channel that a filter of ones spreads over 2 x 2 pixels each.
TEST_F(NnFunctionsTest, Conv2DTransposeSpreadsPixels) {
  const Output image = constant(Tensor::of<float>({1, 1, 2, 1}, {1, 2}));
  const Output filter = ones({2, 2, 1, 1});
  const Output grown = conv2d_transpose(image, filter, {1, 2, 4, 1}, {.strides = {2}});
  EXPECT_THAT(evaluate(grown).data<float>(), ElementsAre(1, 1, 2, 2, 1, 1, 2, 2));
  const auto by = gradients({reduce_sum(grown * grown)}, {image, filter});
  EXPECT_THAT(evaluate(by[0]).data<float>(), ElementsAre(8, 16));
  EXPECT_THAT(evaluate(by[1]).data<float>(), ElementsAre(10, 10, 10, 10));
  EXPECT_THAT(error_of([&] {
                conv2d_transpose(image, filter, {1, 3, 4, 1}, {.strides = {2}});
              }),
              HasSubstr("conv2d_transpose: value, got f32[1,1,2,1], expected [1,2,2,1], as conv2d "
                        "makes of output_shape [1,3,4,1], at nn_functions_test.cc"));
}

TEST_F(NnFunctionsTest, Conv2DTransposeOfABatchOfUnknownSize) {
  const Output image = placeholder(DType::f32, {-1, 4, 4, 3});
  const Output size = stack({unstack(shape(image), {.num = 4})[0], 8, 8, 2});
  const Output grown = conv2d_transpose(image, ones({3, 3, 2, 3}), size, {.strides = {1, 2, 2, 1}});
  EXPECT_EQ(grown.shape(), Shape({-1, 8, 8, 2}));
}

TEST_F(NnFunctionsTest, Conv2DTransposeWithDilation) {
  const Output image = constant(Tensor::of<float>({1, 1, 2, 1}, {1, 2}));
  const Output filter = constant(Tensor::of<float>({1, 2, 1, 1}, {1, 10}));
  const Output grown = conv2d_transpose(image, filter, {1, 1, 4, 1},
                                        {.padding = Padding::valid, .dilations = {1, 2}});
  EXPECT_THAT(evaluate(grown).data<float>(), ElementsAre(1, 2, 10, 20));
}

// Two voxels that a filter spreads over 2 x 1 x 2 each.
TEST_F(NnFunctionsTest, Conv3DTransposeSpreadsVoxels) {
  const Output volume = constant(Tensor::of<float>({1, 1, 1, 2, 1}, {1, 2}));
  const Output filter = constant(Tensor::of<float>({2, 1, 2, 1, 1}, {1, 10, 100, 1000}));
  const Output grown = conv3d_transpose(volume, filter, {1, 2, 1, 4, 1}, {.strides = {2, 1, 2}});
  EXPECT_THAT(evaluate(grown).data<float>(), ElementsAre(1, 10, 2, 20, 100, 1000, 200, 2000));
  const auto by = gradients({reduce_sum(grown)}, {volume, filter});
  EXPECT_THAT(evaluate(by[0]).data<float>(), ElementsAre(1111, 1111));
  EXPECT_THAT(evaluate(by[1]).data<float>(), ElementsAre(3, 3, 3, 3));
  EXPECT_THAT(error_of([&] {
                conv3d_transpose(volume, filter, {1, 2, 1, 5, 1}, {.strides = {2, 1, 2}});
              }),
              HasSubstr("conv3d_transpose: value, got f32[1,1,1,2,1], expected [1,1,1,3,1], as "
                        "conv3d makes of output_shape [1,2,1,5,1], at nn_functions_test.cc"));
}

TEST_F(NnFunctionsTest, Conv1D) {
  const Output value = constant(Tensor::of<float>({1, 5, 1}, {1, 2, 3, 4, 5}));
  const Output filters = constant(Tensor::of<float>({2, 1, 2}, {1, 10, 2, 20}));
  EXPECT_THAT(evaluate(conv1d(value, filters, 2)).data<float>(), ElementsAre(5, 50, 11, 110));
  EXPECT_THAT(evaluate(conv1d(value, filters, 1, {.dilation = 3})).data<float>(),
              ElementsAre(9, 90, 12, 120));
  const Output first = transpose(value, {.perm = {0, 2, 1}});
  const Output y = conv1d(first, filters, 1, {.padding = Padding::same, .data_format = "NCW"});
  EXPECT_EQ(y.shape(), Shape({1, 2, 5}));
  EXPECT_THAT(evaluate(y).data<float>(), ElementsAre(5, 8, 11, 14, 5, 50, 80, 110, 140, 50));
  EXPECT_THAT(evaluate(gradients({conv1d(value, filters, 1)}, {filters})[0]).data<float>(),
              ElementsAre(10, 10, 14, 14));
  EXPECT_THAT(error_of([&] { conv1d(x_, filters, 1); }),
              HasSubstr("conv1d: value and filters, got f32[3] and f32[2,1,2], expected rank 3"));
  EXPECT_THAT(error_of([&] { conv1d(value, filters, 1, {.data_format = "NHWC"}); }),
              HasSubstr("conv1d: data_format, got 'NHWC', expected 'NWC' or 'NCW'"));
}

TEST_F(NnFunctionsTest, SeparableAndAtrousConvolutions) {
  const Output image = constant(Tensor::of<float>({1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}));
  const Output depthwise = ones({2, 2, 2, 1});
  const Output pointwise = constant(Tensor::of<float>({1, 1, 2, 1}, {1, 10}));
  EXPECT_THAT(evaluate(separable_conv2d(image, depthwise, pointwise)).data<float>(),
              ElementsAre(16 + 200));
  EXPECT_THAT(error_of([&] {
                separable_conv2d(image, depthwise, ones({3, 3, 2, 1}));
              }),
              HasSubstr("separable_conv2d: pointwise_filter, got f32[3,3,2,1], expected "
                        "[1,1,in,out], at nn_functions_test.cc"));
  // Two filters, at every other column: 51 and 71 of the first, -6 and -6 of the second.
  std::vector<float> numbers(15);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i + 1);
  const Output wide = constant(Tensor::of<float>({1, 3, 5, 1}, numbers));
  const Output two = constant(Tensor::of<float>({2, 2, 1, 2}, {1, 1, 2, 0, 3, 0, 4, -1}));
  EXPECT_THAT(evaluate(separable_conv2d(wide, two, pointwise,
                                        {.strides = {2, 2}, .padding = Padding::valid}))
                  .data<float>(),
              ElementsAre(51 - 60, 71 - 60));
  const Output row = constant(Tensor::of<float>({1, 1, 4, 1}, {1, 2, 4, 8}));
  const Output y = atrous_conv2d(row, ones({1, 2, 1, 1}), 2, Padding::valid);
  EXPECT_THAT(evaluate(y).data<float>(), ElementsAre(5, 10));
  const Output x = ones({1, 2});
  EXPECT_THAT(
      evaluate(relu_layer(x, ones({2, 1}), constant(Tensor::of<float>({1}, {-3})))).data<float>(),
      ElementsAre(0));
  const Output weights = constant(Tensor::of<float>({2, 1}, {1, 2}));
  EXPECT_THAT(
      evaluate(relu_layer(x, weights, constant(Tensor::of<float>({1}, {0.5F})))).data<float>(),
      ElementsAre(3.5F));
}

TEST_F(NnFunctionsTest, WeightedCrossEntropy) {
  const Output z = constant(Tensor::of<float>({3}, {1, 0, 1}));
  const Output loss =
      weighted_cross_entropy_with_logits({.targets = z, .logits = x_, .pos_weight = 3});
  EXPECT_THAT(evaluate(loss).data<float>(),
              ElementsAre(FloatNear(3 * 2.126928F, 1e-4F), FloatNear(0.693147F, 1e-5F), 0));
  EXPECT_THAT(evaluate(gradients({loss}, {x_})[0]).data<float>(),
              ElementsAre(FloatNear(-3 * 0.880797F, 1e-5F), FloatNear(0.5F, 1e-6F), 0));
  EXPECT_THAT(
      error_of([&] {
        weighted_cross_entropy_with_logits({.targets = ones({2}), .logits = x_, .pos_weight = 3});
      }),
      HasSubstr("logits and targets, got f32[3] and f32[2], expected equal types"));
}

TEST_F(NnFunctionsTest, LocalResponseNormalization) {
  const Output input = constant(Tensor::of<float>({1, 4}, {1, 2, 3, 4}));
  const Output y = local_response_normalization(input, {.depth_radius = 1, .alpha = 2, .beta = 1});
  EXPECT_THAT(evaluate(y).data<float>(),
              ElementsAre(FloatNear(1 / 11.0F, 1e-6F), FloatNear(2 / 29.0F, 1e-6F),
                          FloatNear(3 / 59.0F, 1e-6F), FloatNear(4 / 51.0F, 1e-6F)));
  EXPECT_THAT(evaluate(local_response_normalization(input)).data<float>()[0],
              FloatNear(1 / std::sqrt(31.0F), 1e-6F));
  EXPECT_THAT(error_of([&] { local_response_normalization(input, {.depth_radius = -1}); }),
              HasSubstr("LRN: depth_radius, got -1, expected 0 or more"));
}

TEST_F(NnFunctionsTest, InTopK) {
  const Output scores =
      constant(Tensor::of<float>({4, 3}, {1, 3, 2, 2, 2, 5, 1, std::nanf(""), 2, 1, 2, 3}));
  const Output targets = constant(Tensor::of<int32_t>({4}, {2, 0, 2, 3}));
  EXPECT_THAT(evaluate(in_top_k(scores, targets, 2)).data<bool>(),
              ElementsAre(true, true, false, false));
  EXPECT_THAT(evaluate(in_top_k(scores, targets, 1)).data<bool>(),
              ElementsAre(false, false, false, false));
  EXPECT_THAT(error_of([&] { in_top_k(scores, scores, 1); }),
              HasSubstr("in_top_k: targets, got f32[4,3], expected integers of [batch]"));
}

}  // namespace
}  // namespace systole
