#include "systole/keras/layers/pooling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
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

Layer pooling_layer(const std::string& name, const Json& config) {
  return Layer(find_layer_class(name).from_config(config));
}

Tensor pooled(const Layer& layer, const Tensor& x) {
  const KerasTensor input = Input(Shape(Dims(x.shape().begin() + 1, x.shape().end())));
  return Model(input, layer(input)).predict(x);
}

std::vector<int64_t> last_of(const Place& place, int rank) {
  return {place.end() - rank, place.end()};
}

void check_pooling(int rank, Steps steps, bool channels_first, bool largest) {
  Place size = {4, 5, 6};
  for (size_t i = 0; i + static_cast<size_t>(rank) < 3; ++i) {
    size[i] = steps.window[i] = steps.stride[i] = 1;
  }
  const std::string name = fmt::format("{}Pooling{}D", largest ? "Max" : "Average", rank);
  const Json config = {{"pool_size", last_of(steps.window, rank)},
                       {"strides", last_of(steps.stride, rank)},
                       {"padding", steps.padding},
                       {"data_format", channels_first ? "channels_first" : "channels_last"}};
  SCOPED_TRACE(name + config.dump());
  const Tensor x =
      tensor_of(grid_of(noise({2, size[0], size[1], size[2], 3}, 1), false), rank, channels_first);
  expect_near(pooled(pooling_layer(name, config), x),
              tensor_of(pool(grid_of(x, channels_first), largest, steps), rank, channels_first));
}

TEST(PoolingTest, Windows) {
  const Steps moves[] = {{.window = {2, 2, 2}, .stride = {2, 2, 2}},
                         {.window = {3, 2, 4}, .stride = {1, 1, 1}},
                         {.window = {2, 3, 3}, .stride = {2, 1, 2}},
                         {.window = {1, 1, 2}, .stride = {3, 2, 3}}};
  for (const int rank : {1, 2, 3}) {
    for (Steps steps : moves) {
      for (const char* padding : {"valid", "same"}) {
        steps.padding = padding;
        check_pooling(rank, steps, false, true);
        check_pooling(rank, steps, true, true);
        check_pooling(rank, steps, false, false);
        check_pooling(rank, steps, true, false);
      }
    }
  }
}

TEST(PoolingTest, WholeChannels) {
  for (const int rank : {1, 2, 3}) {
    Place size = {1, 1, 4};
    if (rank > 1) size[1] = 3;
    if (rank > 2) size[0] = 2;
    for (const bool channels_first : {false, true}) {
      const Tensor x = tensor_of(grid_of(noise({2, size[0], size[1], size[2], 3}, 2), false), rank,
                                 channels_first);
      const Json config = {{"data_format", channels_first ? "channels_first" : "channels_last"}};
      for (const bool largest : {false, true}) {
        const Grid whole = pool(grid_of(x, channels_first), largest, {.window = size});
        const std::string name =
            fmt::format("Global{}Pooling{}D", largest ? "Max" : "Average", rank);
        expect_near(pooled(pooling_layer(name, config), x),
                    tensor_of(whole, 1, false).reshape({2, 3}));
      }
    }
  }
}

// Images of any size.
TEST(PoolingTest, UnknownSizes) {
  const KerasTensor input = Input({-1, -1, 3});
  const KerasTensor small = layers::AveragePooling2D(2, {.padding = "same"})(input);
  EXPECT_EQ(small.shape(), Shape({-1, -1, -1, 3}));
  const Model model(input, layers::GlobalMaxPooling2D()(small));
  EXPECT_EQ(model.predict(noise({2, 5, 7, 3}, 1)).shape(), Shape({2, 3}));
}

// Masked steps do not count; where all are masked the result is 0, not NaN.
TEST(PoolingTest, MasksOfSequences) {
  Tensor x = noise({3, 4, 2}, 3);
  for (const int64_t masked : {1, 2, 8, 9, 10, 11}) {  // steps: of batch and time
    for (int64_t c = 0; c < 2; ++c) x.data<float>()[masked * 2 + c] = 5;
  }
  const Grid grid = grid_of(x, false);
  Grid mean(3, {1, 1, 1}, 2);
  Grid most(3, {1, 1, 1}, 2);
  for (int64_t b = 0; b < 3; ++b) {
    for (int64_t c = 0; c < 2; ++c) {
      double sum = 0;
      double count = 0;
      double largest = -std::numeric_limits<double>::infinity();
      for (int64_t t = 0; t < 4; ++t) {
        const double value = grid.at(b, {0, 0, t}, c);
        if (value == 5) continue;
        sum += value;
        count += 1;
        largest = std::max(largest, value);
      }
      mean.at(b, {0, 0, 0}, c) = count == 0 ? 0 : sum / count;
      most.at(b, {0, 0, 0}, c) = count == 0 ? 0 : largest;
    }
  }
  const KerasTensor input = Input({4, 2});
  const KerasTensor masked = layers::Masking(5.0)(input);
  const Model model(
      input, {layers::GlobalAveragePooling1D()(masked), layers::GlobalMaxPooling1D()(masked)});
  const std::vector<Tensor> got = model.predict_all(x);
  expect_near(got[0], tensor_of(mean, 1, false).reshape({3, 2}));
  expect_near(got[1], tensor_of(most, 1, false).reshape({3, 2}));
}

// An example that is masked throughout gives no gradient, and none that is not finite.
TEST(PoolingTest, TrainsUnderAMask) {
  Graph graph;
  const GraphScope scope(graph);
  set_random_seed(1);
  for (const char* name : {"GlobalAveragePooling1D", "GlobalMaxPooling1D"}) {
    const Sequential model({layers::Embedding(6, 3, {.mask_zero = true, .input_length = 4}),
                            pooling_layer(name, Json::object()), layers::Dense(1)});
    model.compile({.optimizer = optimizers::SGD(0.3), .loss = "mse"});
    const Tensor ids = Tensor::of<float>({3, 4}, {1, 2, 0, 0, 0, 0, 0, 0, 5, 4, 3, 2});
    const Tensor y = Tensor::of<float>({3, 1}, {1, 0, -1});
    const double before = model.train_on_batch(ids, y);
    double after = before;
    for (int i = 0; i < 200; ++i) after = model.train_on_batch(ids, y);
    EXPECT_LT(after, before / 2) << name;
    for (const double value : doubles(model.get_weights()[0])) EXPECT_TRUE(std::isfinite(value));
  }
}

// One step of gradient descent at rate 1 on mean(y^2) through pooled volumes, against differences
// of the loops' loss.
TEST(PoolingTest, GradientsOfVolumes) {
  const Tensor x = noise({2, 4, 3, 5, 2}, 1);
  const Steps conv{.window = {2, 1, 2}, .padding = "same"};
  const Steps window{.window = {2, 2, 3}, .stride = {2, 1, 2}, .padding = "same"};
  for (const bool largest : {false, true}) {
    const auto loss = [&](const std::vector<double>& kernel) {
      const Grid y = pool(convolve(grid_of(x, false), kernel, 2, conv), largest, window);
      double sum = 0;
      for (const double value : y.values) sum += value * value;
      return sum / static_cast<double>(y.values.size());
    };
    const layers::Conv3D layer(
        2, {2, 1, 2}, {.padding = "same", .use_bias = false, .input_shape = Shape{4, 3, 5, 2}});
    const Json config = {{"pool_size", {2, 2, 3}}, {"strides", {2, 1, 2}}, {"padding", "same"}};
    const Sequential model(
        {layer, pooling_layer(largest ? "MaxPooling3D" : "AveragePooling3D", config)});
    layer.set_weights({noise({2, 1, 2, 2, 2}, 2)});
    const std::vector<double> kernel = doubles(layer.get_weights()[0]);
    model.compile({.optimizer = optimizers::SGD(1.0), .loss = "mse"});
    model.train_on_batch(x, Tensor::zeros(DType::f32, model.predict(x).shape()));
    const std::vector<double> moved = doubles(layer.get_weights()[0]);
    for (size_t i = 0; i < kernel.size(); ++i) {
      std::vector<double> more = kernel;
      std::vector<double> less = kernel;
      more[i] += 1e-5;
      less[i] -= 1e-5;
      EXPECT_NEAR(kernel[i] - moved[i], (loss(more) - loss(less)) / 2e-5, 1e-4);
    }
  }
}

TEST(PoolingTest, FormsThatProgramsWrite) {
  const KerasTensor image = Input({9, 8, 3});
  EXPECT_EQ(layers::MaxPooling2D()(image).shape(), Shape({-1, 4, 4, 3}));
  EXPECT_EQ(layers::MaxPooling2D({2, 3})(image).shape(), Shape({-1, 4, 2, 3}));
  EXPECT_EQ(layers::MaxPooling2D({3, 3}, {2, 1})(image).shape(), Shape({-1, 4, 6, 3}));
  EXPECT_EQ(layers::MaxPool2D(3, {.strides = 2, .padding = "same"})(image).shape(),
            Shape({-1, 5, 4, 3}));
  EXPECT_EQ(layers::AveragePooling1D(3)(Input({9, 3})).shape(), Shape({-1, 3, 3}));
  EXPECT_EQ(layers::AvgPool3D({2, 1, 2})(Input({4, 4, 4, 1})).shape(), Shape({-1, 2, 4, 2, 1}));
  EXPECT_EQ(layers::MaxPooling2D({.strides = 1})(image).shape(), Shape({-1, 8, 7, 3}));
  EXPECT_EQ(layers::MaxPooling2D({.strides = 3})(image).shape(), Shape({-1, 3, 3, 3}));
  EXPECT_EQ(layers::MaxPooling2D({.pool_size = {3, 2}, .strides = 1})(image).shape(),
            Shape({-1, 7, 7, 3}));
  EXPECT_EQ(layers::UpSampling2D({.size = {1, 2}})(image).shape(), Shape({-1, 9, 16, 3}));
  EXPECT_EQ(layers::ZeroPadding2D({.padding = {1, 2}})(image).shape(), Shape({-1, 11, 12, 3}));
  EXPECT_EQ(layers::Cropping2D({.cropping = {{1, 2}, {0, 3}}})(image).shape(),
            Shape({-1, 6, 5, 3}));
  EXPECT_EQ(layers::GlobalAveragePooling2D()(image).shape(), Shape({-1, 3}));
  EXPECT_EQ(layers::GlobalMaxPool3D({.data_format = "channels_first"})(Input({5, 4, 4, 4})).shape(),
            Shape({-1, 5}));
}

TEST(PoolingTest, ConfigurationsComeBack) {
  for (const char* kind : {"MaxPooling", "AveragePooling"}) {
    for (const int rank : {1, 2, 3}) {
      const std::string name = fmt::format("{}{}D", kind, rank);
      const Json config = pooling_layer(name, {{"pool_size", 3}, {"padding", "same"}}).get_config();
      EXPECT_EQ(pooling_layer(name, config).get_config(), config);
      EXPECT_EQ(config.at("strides"), Json(std::vector<int64_t>(static_cast<size_t>(rank), 3)));
      const std::string global = "Global" + name;
      const Json whole = pooling_layer(global, {{"data_format", "channels_first"}}).get_config();
      EXPECT_EQ(pooling_layer(global, whole).get_config(), whole);
    }
  }
  EXPECT_EQ(find_layer_class("AvgPool1D").name, "AveragePooling1D");
  EXPECT_EQ(find_layer_class("GlobalMaxPool2D").name, "GlobalMaxPooling2D");
}

TEST(PoolingTest, RefuseWhatDoesNotFit) {
  const auto refuses = [](const std::function<void()>& f, const std::string& text) {
    EXPECT_THAT(error_of(f), HasSubstr(text));
  };
  refuses([] { layers::MaxPooling2D()(Input({4, 4})); }, "expected ndim=4, found ndim=3");
  refuses(
      [] {
        layers::MaxPooling2D({5, 2}, {.name = "p"})(Input({4, 4, 1}));
      },
      "p: pool_size covers (5, 2) elements, got an input of shape (None, 4, 4, 1)");
  refuses([] { layers::MaxPooling1D(0); }, "MaxPooling1D: pool_size, got (0,), expected 1 or more");
  refuses(
      [] {
        layers::AveragePooling3D({1, 2});
      },
      "The `pool_size` argument must be a tuple of 3 integers. Received 2 of them");
  refuses([] { layers::AveragePooling2D(2, {.padding = "causal"}); },
          "AveragePooling2D: padding, got 'causal', expected 'valid' or 'same'");
  const KerasTensor masked = layers::Masking()(Input({5, 2}));
  refuses([&] { layers::MaxPooling1D()(masked); }, "does not support masking");
}

TEST(LayerArgumentsTest, MayAllBeGivenByName) {
  EXPECT_EQ(layers::Dense({.units = 3}).get_config().at("units"), 3);
  EXPECT_EQ(layers::Embedding({.input_dim = 5, .output_dim = 2}).get_config().at("output_dim"), 2);
  EXPECT_EQ(layers::Dropout({.rate = 0.25}).get_config().at("rate"), 0.25);
  EXPECT_EQ(layers::SpatialDropout1D({.rate = 0.25}).get_config().at("rate"), 0.25);
  EXPECT_EQ(layers::GaussianNoise({.stddev = 2}).get_config().at("stddev"), 2);
  EXPECT_EQ(layers::GaussianDropout({.rate = 0.25}).get_config().at("rate"), 0.25);
  EXPECT_EQ(layers::AlphaDropout({.rate = 0.25}).get_config().at("rate"), 0.25);
  EXPECT_EQ(layers::LeakyReLU({.alpha = 0.25}).get_config().at("alpha"), 0.25);
  EXPECT_EQ(layers::ELU({.alpha = 0.25}).get_config().at("alpha"), 0.25);
  EXPECT_EQ(layers::ThresholdedReLU({.theta = 0.25}).get_config().at("theta"), 0.25);
  EXPECT_EQ(layers::Softmax({.axis = 1}).get_config().at("axis"), 1);
  EXPECT_EQ(layers::Masking({.mask_value = 2}).get_config().at("mask_value"), 2);
  EXPECT_EQ(layers::RepeatVector({.n = 4}).get_config().at("n"), 4);
}

}  // namespace
}  // namespace systole::keras
