#include "systole/keras/layers/convolution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "systole/base/testing/error_of.h"
#include "systole/keras/engine/layer_class.h"
#include "systole/keras/keras.h"
#include "systole/keras/testing/grid.h"

namespace systole::keras {
namespace {

using namespace keras::testing;  // NOLINT(google-build-using-namespace): the reference
using systole::testing::error_of;
using ::testing::HasSubstr;

constexpr int64_t kFilters = 3;
constexpr int64_t kIn = 2;

struct ConvolutionCase {
  std::string layer;
  int rank;
  Steps steps;
  Place size = {4, 5, 6};
  int64_t multiplier = 2;
  Place output_padding = {-1, -1, -1};  // none
  bool channels_first = false;
};

std::vector<int64_t> last(const Place& place, int rank) {
  return {place.end() - rank, place.end()};
}

// Axes of the case's rank alone.
ConvolutionCase narrow(ConvolutionCase c) {
  for (size_t i = 0; i + static_cast<size_t>(c.rank) < 3; ++i) {
    c.size[i] = c.steps.window[i] = c.steps.stride[i] = c.steps.dilation[i] = 1;
  }
  return c;
}

bool is_depthwise(const ConvolutionCase& c) { return c.layer == "DepthwiseConv2D"; }
bool is_separable(const ConvolutionCase& c) { return c.layer.starts_with("Separable"); }
bool is_transposed(const ConvolutionCase& c) { return c.layer.ends_with("Transpose"); }

Json config_of(const ConvolutionCase& c) {
  Json config = {{"kernel_size", last(c.steps.window, c.rank)},
                 {"strides", last(c.steps.stride, c.rank)},
                 {"dilation_rate", last(c.steps.dilation, c.rank)},
                 {"padding", c.steps.padding},
                 {"data_format", c.channels_first ? "channels_first" : "channels_last"}};
  if (!is_depthwise(c)) config["filters"] = kFilters;
  if (is_depthwise(c) || is_separable(c)) config["depth_multiplier"] = c.multiplier;
  if (c.output_padding[2] >= 0) config["output_padding"] = last(c.output_padding, c.rank);
  return config;
}

Layer layer_of(const std::string& name, const Json& config) {
  return Layer(find_layer_class(name).from_config(config));
}

// Gives the layer weights of our own.
std::vector<std::vector<double>> set_noise(const Layer& layer) {
  std::vector<Tensor> weights;
  std::vector<std::vector<double>> values;
  for (const Tensor& weight : layer.get_weights()) {
    weights.push_back(noise(weight.shape(), 10 + weights.size()));
    values.push_back(doubles(weights.back()));
  }
  layer.set_weights(weights);
  return values;
}

// n s + max(k' - s, 0) or n s; with an output padding (n - 1) s + k' - 2 pad + it.
int64_t grown(const ConvolutionCase& c, size_t axis) {
  const int64_t n = c.size[axis];
  const int64_t reach = c.steps.reach(axis);
  const int64_t stride = c.steps.stride[axis];
  const bool same = c.steps.padding == "same";
  if (c.output_padding[axis] < 0) {
    return n * stride + (same ? 0 : std::max<int64_t>(reach - stride, 0));
  }
  return (n - 1) * stride + reach - 2 * (same ? reach / 2 : 0) + c.output_padding[axis];
}

Grid by_hand(const ConvolutionCase& c, const Grid& x,
             const std::vector<std::vector<double>>& weights) {
  if (is_transposed(c)) {
    Place size = {1, 1, 1};
    for (size_t i = 3 - static_cast<size_t>(c.rank); i < 3; ++i) size[i] = grown(c, i);
    return convolve_transposed(x, weights[0], kFilters, size, c.steps);
  }
  if (is_depthwise(c)) return convolve_each(x, weights[0], c.multiplier, c.steps);
  if (!is_separable(c)) return convolve(x, weights[0], kFilters, c.steps);
  const Grid each = convolve_each(x, weights[0], c.multiplier, c.steps);
  return convolve(each, weights[1], kFilters, {});
}

void check(const ConvolutionCase& c) {
  SCOPED_TRACE(c.layer + config_of(c).dump());
  const Tensor x = tensor_of(grid_of(noise({2, c.size[0], c.size[1], c.size[2], kIn}, 1), false),
                             c.rank, c.channels_first);
  const Layer layer = layer_of(c.layer, config_of(c));
  const KerasTensor input = Input(Shape(Dims(x.shape().begin() + 1, x.shape().end())));
  const Model model(input, layer(input));
  const auto weights = set_noise(layer);
  Grid y = by_hand(c, grid_of(x, c.channels_first), weights);
  add_to_channels(y, weights.back());
  expect_near(model.predict(x), tensor_of(y, c.rank, c.channels_first));
}

void check_all(const std::vector<std::string>& layers, int rank, const std::vector<Steps>& moves) {
  for (const std::string& layer : layers) {
    for (const Steps& steps : moves) {
      for (const bool channels_first : {false, true}) {
        check(narrow(
            {.layer = layer, .rank = rank, .steps = steps, .channels_first = channels_first}));
      }
    }
  }
}

TEST(ConvolutionTest, Sequences) {
  std::vector<Steps> moves;
  for (const char* padding : {"valid", "same", "causal"}) {
    moves.push_back({.window = {1, 1, 3}, .padding = padding});
    moves.push_back({.window = {1, 1, 2}, .stride = {1, 1, 2}, .padding = padding});
    moves.push_back({.window = {1, 1, 3}, .dilation = {1, 1, 2}, .padding = padding});
  }
  check_all({"Conv1D", "SeparableConv1D"}, 1, moves);
}

TEST(ConvolutionTest, Images) {
  std::vector<Steps> moves;
  for (const char* padding : {"valid", "same"}) {
    moves.push_back({.window = {1, 3, 2}, .padding = padding});
    moves.push_back({.window = {1, 2, 3}, .stride = {1, 2, 3}, .padding = padding});
    moves.push_back({.window = {1, 2, 2}, .dilation = {1, 3, 2}, .padding = padding});
  }
  check_all({"Conv2D", "SeparableConv2D", "DepthwiseConv2D"}, 2, moves);
}

TEST(ConvolutionTest, Volumes) {
  std::vector<Steps> moves;
  for (const char* padding : {"valid", "same"}) {
    moves.push_back({.window = {2, 3, 2}, .padding = padding});
    moves.push_back({.window = {2, 1, 3}, .stride = {2, 3, 1}, .padding = padding});
    moves.push_back({.window = {2, 2, 1}, .dilation = {3, 1, 2}, .padding = padding});
  }
  check_all({"Conv3D"}, 3, moves);
}

TEST(ConvolutionTest, Transposed) {
  for (const char* padding : {"valid", "same"}) {
    const std::vector<Steps> images = {
        {.window = {1, 3, 2}, .padding = padding},
        {.window = {1, 3, 3}, .stride = {1, 2, 3}, .padding = padding},
        {.window = {1, 1, 2}, .stride = {1, 2, 2}, .padding = padding},
        {.window = {1, 2, 3}, .dilation = {1, 2, 1}, .padding = padding}};
    check_all({"Conv2DTranspose"}, 2, images);
    check_all({"Conv3DTranspose"}, 3,
              {{.window = {2, 3, 1}, .padding = padding},
               {.window = {1, 3, 2}, .stride = {2, 1, 2}, .padding = padding}});
    for (const int64_t more : {0, 1}) {
      check(narrow({.layer = "Conv2DTranspose",
                    .rank = 2,
                    .steps = {.window = {1, 3, 5}, .stride = {1, 2, 3}, .padding = padding},
                    .output_padding = {0, more, 2 * more}}));
    }
  }
  check({.layer = "Conv3DTranspose",
         .rank = 3,
         .steps = {.window = {3, 3, 2}, .stride = {2, 2, 2}},
         .size = {2, 2, 3},
         .output_padding = {1, 0, 1}});
}

// A batch of any size, and images of any size.
TEST(ConvolutionTest, UnknownSizes) {
  const KerasTensor input = Input({-1, -1, 2});
  const layers::Conv2D conv(3, 3, {.padding = "same"});
  const layers::Conv2DTranspose grow(2, 3, {.strides = 2, .padding = "same"});
  const KerasTensor grown_image = grow(conv(input));
  EXPECT_EQ(grown_image.shape(), Shape({-1, -1, -1, 2}));
  const Model model(input, grown_image);
  EXPECT_EQ(model.predict(noise({3, 4, 5, 2}, 1)).shape(), Shape({3, 8, 10, 2}));
  EXPECT_EQ(model.predict(noise({1, 2, 7, 2}, 1)).shape(), Shape({1, 4, 14, 2}));
}

TEST(ConvolutionTest, FormsThatProgramsWrite) {
  const KerasTensor image = Input({9, 8, 2});
  const layers::Conv2D plain(4, {3, 2}, {.activation = "relu"});
  EXPECT_EQ(plain(image).shape(), Shape({-1, 7, 7, 4}));
  EXPECT_EQ(layers::Conv2D(4, 3)(image).shape(), Shape({-1, 7, 6, 4}));
  EXPECT_EQ(layers::Conv2D(4, {3, 3}, {2, 1})(image).shape(), Shape({-1, 4, 6, 4}));
  EXPECT_EQ(layers::Conv2D(4, 3, {2, 2}, {.padding = "SAME"})(image).shape(), Shape({-1, 5, 4, 4}));
  EXPECT_EQ(layers::Conv2D(4, 3, {.strides = 3})(image).shape(), Shape({-1, 3, 2, 4}));
  EXPECT_EQ(layers::Conv2D(4, {3, 3}, {.strides = {2, 1}})(image).shape(), Shape({-1, 4, 6, 4}));
  EXPECT_EQ(layers::Conv2D(4, 3, 2)(image).shape(), Shape({-1, 4, 3, 4}));
  EXPECT_EQ(layers::Conv2D(4, {3, 3}, {2, 2}, "same")(image).shape(), Shape({-1, 5, 4, 4}));
  EXPECT_EQ(layers::Conv2D(4, 3, 1, "same", {.use_bias = false})(image).shape(),
            Shape({-1, 9, 8, 4}));
  EXPECT_EQ(layers::Conv2D(4, 3, {.dilation_rate = {2, 1}})(image).shape(), Shape({-1, 5, 6, 4}));
  EXPECT_EQ(layers::Conv2DTranspose(4, 3, {.strides = {2, 2}})(image).shape(),
            Shape({-1, 19, 17, 4}));
  EXPECT_EQ(layers::Conv2DTranspose(4, 3, 2)(image).shape(), Shape({-1, 19, 17, 4}));
  EXPECT_EQ(layers::SeparableConv2D(4, 3, {.strides = {2, 2}})(image).shape(),
            Shape({-1, 4, 3, 4}));
  EXPECT_EQ(layers::MaxPooling2D({3, 3}, {.strides = {2, 2}})(image).shape(), Shape({-1, 4, 3, 2}));
  EXPECT_EQ(layers::MaxPooling2D(3, {1})(image).shape(), Shape({-1, 7, 6, 2}));
  EXPECT_EQ(layers::DepthwiseConv2D({2, 2}, {.depth_multiplier = 3})(image).shape(),
            Shape({-1, 8, 7, 6}));
  EXPECT_EQ(layers::Deconvolution2D(1, 2, {2, 2})(image).shape(), Shape({-1, 18, 16, 1}));
  EXPECT_EQ(layers::SeparableConv1D(5, 2)(Input({9, 3})).shape(), Shape({-1, 8, 5}));
  EXPECT_EQ(layers::Convolution3D(5, {1, 2, 3})(Input({4, 4, 4, 1})).shape(),
            Shape({-1, 4, 3, 2, 5}));
  const Tensor activations = Model(image, plain(image)).predict(noise({1, 9, 8, 2}, 3));
  for (const float value : activations.data<float>()) {
    EXPECT_GE(value, 0);
  }
  const Sequential model({layers::Conv1D(2, 3, {.use_bias = false, .input_shape = Shape{7, 4}}),
                          layers::Conv1D(2, 2, {.name = "second"})});
  EXPECT_EQ(model.layers()[0].weights().size(), 1U);
  EXPECT_EQ(model.layers()[1].weights()[0]->name(), "kernel");
  EXPECT_EQ(model.count_params(), 3 * 4 * 2 + 2 * 2 * 2 + 2);
}

TEST(ConvolutionTest, NamesAndShapesOfWeights) {
  const auto weights_of = [](const Layer& layer, const Shape& input) {
    layer(Input(input));
    std::string text;
    for (const WeightPtr& weight : layer.weights()) {
      text += weight->name() + weight->shape().to_string() + " ";
    }
    return text;
  };
  using F = layers::ConvOptions;
  EXPECT_EQ(weights_of(layers::Conv2D(5, {3, 4}, F{.data_format = "channels_first"}), {2, 8, 9}),
            "kernel[3,4,2,5] bias[5] ");
  EXPECT_EQ(weights_of(layers::Conv3DTranspose(5, {1, 2, 3}), {4, 4, 4, 2}),
            "kernel[1,2,3,5,2] bias[5] ");
  EXPECT_EQ(weights_of(layers::SeparableConv2D(5, 3, {.depth_multiplier = 4}), {8, 9, 2}),
            "depthwise_kernel[3,3,2,4] pointwise_kernel[1,1,8,5] bias[5] ");
  EXPECT_EQ(weights_of(layers::SeparableConv1D(5, 3, {.use_bias = false}), {8, 2}),
            "depthwise_kernel[3,2,1] pointwise_kernel[1,2,5] ");
  EXPECT_EQ(weights_of(layers::DepthwiseConv2D(3, {.depth_multiplier = 2}), {8, 9, 2}),
            "depthwise_kernel[3,3,2,2] bias[4] ");
}

// One step of gradient descent at rate 1 on mean(y^2), against differences of the loops' loss.
TEST(ConvolutionTest, GradientsOfVolumes) {
  const Tensor x = noise({2, 3, 2, 3, 2}, 1);
  const Grid grid = grid_of(x, false);
  const Steps steps{.window = {2, 1, 2}, .stride = {1, 1, 2}, .padding = "same"};
  const auto loss = [&](const std::vector<double>& kernel, bool transposed) {
    const Grid y = transposed ? convolve_transposed(grid, kernel, 2, {3, 2, 6}, steps)
                              : convolve(grid, kernel, 2, steps);
    double sum = 0;
    for (const double value : y.values) sum += value * value;
    return sum / static_cast<double>(y.values.size());
  };
  for (const bool transposed : {false, true}) {
    const Layer layer =
        layer_of(transposed ? "Conv3DTranspose" : "Conv3D", {{"filters", 2},
                                                             {"kernel_size", {2, 1, 2}},
                                                             {"strides", {1, 1, 2}},
                                                             {"padding", "same"},
                                                             {"use_bias", false},
                                                             {"input_shape", {3, 2, 3, 2}}});
    const Sequential model({layer});
    const std::vector<double> kernel = set_noise(layer)[0];
    model.compile({.optimizer = optimizers::SGD(1.0), .loss = "mse"});
    const Tensor target = Tensor::zeros(DType::f32, model.predict(x).shape());
    model.train_on_batch(x, target);
    const std::vector<double> moved = doubles(layer.get_weights()[0]);
    for (size_t i = 0; i < kernel.size(); ++i) {
      std::vector<double> more = kernel;
      std::vector<double> less = kernel;
      more[i] += 1e-4;
      less[i] -= 1e-4;
      EXPECT_NEAR(kernel[i] - moved[i], (loss(more, transposed) - loss(less, transposed)) / 2e-4,
                  1e-5);
    }
  }
}

TEST(ConvolutionTest, RegularizersAndConstraints) {
  const layers::SeparableConv2D conv(2, 2,
                                     {.depthwise_regularizer = regularizers::l2(0.5),
                                      .pointwise_regularizer = regularizers::l1(0.25),
                                      .pointwise_constraint = "non_neg",
                                      .input_shape = Shape{3, 3, 1}});
  const Sequential model({conv});
  const auto weights = set_noise(conv);
  model.compile({.optimizer = optimizers::SGD(0.0), .loss = "mse"});
  const Tensor x = noise({4, 3, 3, 1}, 7);
  double penalty = 0;
  for (const double w : weights[0]) penalty += 0.5 * w * w;
  for (const double w : weights[1]) penalty += 0.25 * std::abs(w);
  EXPECT_NEAR(model.evaluate(x, model.predict(x), {.verbose = 0}), penalty, 1e-5);
  model.train_on_batch(x, model.predict(x));
  const std::vector<double> projected = doubles(conv.get_weights()[1]);
  for (size_t i = 0; i < projected.size(); ++i) {
    EXPECT_FLOAT_EQ(static_cast<float>(projected[i]),
                    static_cast<float>(std::max(weights[1][i], 0.0)));
  }
}

TEST(ConvolutionTest, ConfigurationsComeBack) {
  for (const char* name : {"Conv1D", "Conv2D", "Conv3D", "Conv2DTranspose", "Conv3DTranspose",
                           "SeparableConv1D", "SeparableConv2D", "DepthwiseConv2D"}) {
    Json given = {{"kernel_size", 3}, {"activation", "relu"}, {"padding", "same"}};
    if (std::string(name) != "DepthwiseConv2D") given["filters"] = 4;
    const Json config = layer_of(name, given).get_config();
    EXPECT_EQ(layer_of(name, config).get_config(), config) << name;
    EXPECT_EQ(config.at("kernel_size").size(), config.at("strides").size());
    EXPECT_EQ(config.at("data_format"), "channels_last");
  }
  EXPECT_EQ(find_layer_class("Convolution2D").name, "Conv2D");
  EXPECT_EQ(find_layer_class("Deconvolution3D").name, "Conv3DTranspose");
  EXPECT_EQ(find_layer_class("SeparableConvolution1D").name, "SeparableConv1D");
  // tf.keras writes these for a layer that has no such kernel.
  const Layer separable = layer_of("SeparableConv2D", {{"filters", 2},
                                                       {"kernel_size", {3, 3}},
                                                       {"kernel_initializer", nullptr},
                                                       {"kernel_regularizer", nullptr},
                                                       {"kernel_constraint", nullptr}});
  EXPECT_FALSE(separable.get_config().contains("kernel_initializer"));
}

TEST(ConvolutionTest, RefuseWhatDoesNotFit) {
  const auto refuses = [](const std::function<void()>& f, const std::string& text) {
    EXPECT_THAT(error_of(f), HasSubstr(text));
  };
  refuses(
      [] {
        layers::Conv2D(3, 3, {.name = "c"})(Input({4, 4}));
      },
      "Input 0 of layer c is incompatible with the layer: expected ndim=4, found ndim=3. "
      "Full shape received: (None, 4, 4)");
  refuses(
      [] {
        layers::Conv2D(3, 3, {.name = "c"})(Input({4, 4, -1}));
      },
      "c: the channel dimension of the inputs should be defined. Found `None`. Full shape "
      "received: (None, 4, 4, None)");
  refuses(
      [] {
        layers::Conv2D(3, {5, 3}, {.name = "c"})(Input({4, 4, 1}));
      },
      "c: kernel_size with dilation_rate covers (5, 3) elements, got an input of shape (None, "
      "4, 4, 1), expected sizes that are at least as large, or padding 'same'");
  refuses(
      [] {
        layers::Conv1D(3, 3, {.dilation_rate = 2, .name = "c"})(Input({4, 1}));
      },
      "covers (5,) elements, got an input of shape (None, 4, 1)");
  refuses(
      [] {
        layers::Conv2D(3, 3, {.strides = 2, .dilation_rate = {1, 2}});
      },
      "Conv2D: strides > 1 not supported in conjunction with dilation_rate > 1, got strides "
      "(2, 2) and dilation_rate (1, 2)");
  refuses(
      [] {
        layers::Conv2D(3, {1, 2, 3});
      },
      "The `kernel_size` argument must be a tuple of 2 integers. Received 3 of them");
  refuses([] { layers::Conv2D(3, 0); }, "Conv2D: kernel_size, got (0, 0), expected 1 or more");
  refuses([] { layers::Conv2D(0, 3); },
          "Conv2D: filters, got 0, expected an integer from 1 to 2147483647");
  refuses([] { layers::Conv2D(3, 3, {.padding = "causal"}); },
          "Conv2D: padding, got 'causal', expected 'valid' or 'same'");
  refuses([] { layers::Conv1D(3, 3, {.padding = "full"}); },
          "Conv1D: padding, got 'full', expected 'valid', 'same' or 'causal'");
  refuses([] { layers::Conv2D(3, 3, {.data_format = "NHWC"}); },
          "Conv2D: data_format, got 'nhwc', expected 'channels_last' or 'channels_first'");
  refuses(
      [] {
        layers::Conv2DTranspose(3, 3, {.strides = 2, .output_padding = {1, 2}});
      },
      "Conv2DTranspose: strides (2, 2) must be greater than output padding (1, 2)");
  refuses([] { layers::DepthwiseConv2D(3, {.depth_multiplier = 0}); },
          "DepthwiseConv2D: depth_multiplier, got 0, expected an integer from 1 to ");
  const layers::Conv2D shared(3, 1);
  shared(Input({4, 4, 2}));
  refuses([&] { shared(Input({4, 4, 3})); }, "expected axis -1 of input shape to have value 2");
  const KerasTensor masked = layers::Masking()(Input({5, 2}));
  refuses([&] { layers::Conv1D(3, 2)(masked); }, "does not support masking");
}

}  // namespace
}  // namespace systole::keras
