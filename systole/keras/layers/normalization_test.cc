#include "systole/keras/layers/normalization.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "systole/base/testing/error_of.h"
#include "systole/keras/engine/layer_class.h"
#include "systole/keras/testing/layer_checks.h"

namespace systole::keras {
namespace {

using systole::testing::error_of;
using ::testing::HasSubstr;

// Means and population variances in f64 of the elements with the same indices along `axes`.
struct FeatureMoments {
  std::vector<size_t> feature;  // of each element
  std::vector<double> mean;
  std::vector<double> variance;
  double count = 0;
};

FeatureMoments moments_by(const Tensor& x, const std::vector<int>& axes) {
  FeatureMoments m;
  size_t features = 1;
  for (const int axis : axes) features *= static_cast<size_t>(x.dim(axis));
  m.mean.resize(features);
  m.variance.resize(features);
  m.count = static_cast<double>(x.num_elements()) / static_cast<double>(features);
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    std::vector<int64_t> index(static_cast<size_t>(x.rank()));
    int64_t rest = i;
    for (int axis = x.rank() - 1; axis >= 0; --axis) {
      index[axis] = rest % x.dim(axis);
      rest /= x.dim(axis);
    }
    size_t feature = 0;
    for (const int axis : axes) {
      feature = feature * static_cast<size_t>(x.dim(axis)) + static_cast<size_t>(index[axis]);
    }
    m.feature.push_back(feature);
    m.mean[feature] += x.as_double(i) / m.count;
  }
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    const size_t f = m.feature[i];
    m.variance[f] += std::pow(x.as_double(i) - m.mean[f], 2) / m.count;
  }
  return m;
}

struct AxisCase {
  const char* name;
  Shape shape;
  AxisList axis;
  std::vector<int> axes;
  bool fused;  // whether the moving variance averages the sample variance
};

std::vector<AxisCase> axis_cases() {
  return {{"matrix", {6, 3}, -1, {1}, false},
          {"series", {4, 5, 3}, 2, {2}, false},
          {"image", {3, 4, 5, 2}, -1, {3}, true},
          {"channels first", {3, 2, 4, 5}, 1, {1}, true},
          {"axis 2 of rank 4", {3, 2, 4, 5}, 2, {2}, false},
          {"two axes", {6, 2, 3}, {1, 2}, {1, 2}, false}};
}

TEST(BatchNormalizationTest, UsesMovingAveragesWhenNotTraining) {
  for (const AxisCase& row : axis_cases()) {
    SCOPED_TRACE(row.name);
    const Tensor x = normal_array(row.shape, 1);
    const layers::BatchNormalization layer({.axis = row.axis, .epsilon = 0.01});
    result_of(layer, x);  // builds it
    ASSERT_EQ(layer.weights().size(), 4U);
    const Shape shape = layer.weights()[0]->shape();
    std::vector<Tensor> weights;
    for (uint64_t i = 0; i < 4; ++i) weights.push_back(normal_array(shape, 10 + i));
    for (float& v : weights[3].data<float>()) v = 0.5F + std::abs(v);
    layer.set_weights(weights);
    const FeatureMoments m = moments_by(x, row.axes);
    std::vector<double> expected;
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      const auto f = static_cast<int64_t>(m.feature[i]);
      expected.push_back(weights[0].as_double(f) * (x.as_double(i) - weights[2].as_double(f)) /
                             std::sqrt(weights[3].as_double(f) + 0.01) +
                         weights[1].as_double(f));
    }
    expect_all_near(result_of(layer, x), expected, 1e-5);
  }
}

TEST(BatchNormalizationTest, TrainsWithTheBatchAndMovesItsAverages) {
  for (const AxisCase& row : axis_cases()) {
    SCOPED_TRACE(row.name);
    const Tensor x = normal_array(row.shape, 2);
    const layers::BatchNormalization layer({.axis = row.axis, .momentum = 0.75});
    const FeatureMoments m = moments_by(x, row.axes);
    std::vector<double> expected;
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      const size_t f = m.feature[i];
      expected.push_back((x.as_double(i) - m.mean[f]) / std::sqrt(m.variance[f] + 1e-3));
    }
    expect_all_near(result_of(layer, x, /*training=*/true), expected, 1e-5);

    const KerasTensor input = input_like(x);
    const Model model(input, layer(input));
    model.compile({.optimizer = optimizers::SGD(0), .loss = "mse"});
    model.train_on_batch(x, x);
    const double sample = row.fused ? m.count / (m.count - 1) : 1;
    std::vector<double> mean;
    std::vector<double> variance;
    for (size_t f = 0; f < m.mean.size(); ++f) {
      mean.push_back(0.25 * m.mean[f]);
      variance.push_back(0.75 + 0.25 * m.variance[f] * sample);
    }
    const std::vector<Tensor> weights = layer.get_weights();
    expect_all_near(weights[2], mean, 1e-6);
    expect_all_near(weights[3], variance, 1e-6);
  }
}

TEST(BatchNormalizationTest, FusedCanBeChosen) {
  const Tensor x = normal_array({2, 2, 2, 1}, 3);
  const FeatureMoments m = moments_by(x, {3});
  for (const bool fused : {false, true}) {
    const layers::BatchNormalization layer({.momentum = 0, .epsilon = 0, .fused = fused});
    const KerasTensor input = input_like(x);
    const Model model(input, layer(input));
    model.compile({.optimizer = optimizers::SGD(0), .loss = "mse"});
    model.train_on_batch(x, x);
    expect_all_near(layer.get_weights()[3], {m.variance[0] * (fused ? 8.0 / 7 : 1)}, 1e-5);
  }
  // The kernel's smallest epsilon.
  const layers::BatchNormalization layer({.epsilon = 0});
  const Tensor zeros = Tensor::zeros(DType::f32, {1, 1, 1, 1});
  result_of(layer, zeros);
  layer.set_weights({Tensor::full(DType::f32, {1}, 1), Tensor::zeros(DType::f32, {1}),
                     Tensor::full(DType::f32, {1}, -1), Tensor::zeros(DType::f32, {1})});
  expect_all_near(result_of(layer, zeros), {1 / std::sqrt(1.001e-5)}, 1e-4);
  EXPECT_THAT(error_of([] { layers::BatchNormalization({.fused = true})(Input({3})); }),
              HasSubstr("only support 4D input tensors"));
}

// A batch that is filled up, on one core and on eight, has the statistics of its examples alone.
TEST(BatchNormalizationTest, LeavesPaddingOut) {
  const Tensor x = normal_array({13, 3}, 4);
  const Tensor y = normal_array({13, 2}, 5);
  std::vector<std::vector<Tensor>> weights;
  std::vector<std::vector<double>> losses;
  for (const Placement& place : {Placement{}, Placement{"local:v3-8", 8}}) {
    Graph graph;
    const GraphScope scope(graph);
    set_random_seed(3);
    const Sequential model({layers::Dense(4, {.input_shape = Shape{3}}),
                            layers::BatchNormalization({.momentum = 0.5}), layers::Dense(2)});
    model.place(place);
    model.compile({.optimizer = optimizers::SGD(0.1), .loss = "mse"});
    const History history =
        model.fit(x, y, {.batch_size = 8, .epochs = 3, .verbose = 0, .shuffle = false});
    weights.push_back(model.get_weights());
    losses.push_back(history.history.at("loss"));
  }
  for (size_t i = 0; i < losses[0].size(); ++i) EXPECT_NEAR(losses[0][i], losses[1][i], 1e-5);
  for (size_t i = 0; i < weights[0].size(); ++i) {
    for (int64_t k = 0; k < weights[0][i].num_elements(); ++k) {
      EXPECT_NEAR(weights[0][i].as_double(k), weights[1][i].as_double(k), 2e-5);
    }
  }

  const layers::BatchNormalization layer({.momentum = 0, .input_shape = Shape{3}});
  const Sequential model({layer});
  model.compile({.optimizer = optimizers::SGD(0), .loss = "mse"});
  model.fit(x, x, {.batch_size = 8, .epochs = 1, .verbose = 0, .shuffle = false});
  const FeatureMoments last = moments_by(x.slice(8, 13).clone(), {1});
  expect_all_near(layer.get_weights()[2], last.mean, 1e-5);
  expect_all_near(layer.get_weights()[3], last.variance, 1e-5);
}

TEST(BatchNormalizationTest, FrozenLayersUseTheirAverages) {
  const Tensor x = normal_array({6, 3}, 6);
  for (const bool of_batch : {false, true}) {
    const layers::BatchNormalization layer(
        {.batch_statistics_when_frozen = of_batch, .input_shape = Shape{3}, .trainable = false});
    const Sequential model({layer, layers::Dense(1)});
    EXPECT_EQ(model.model()->trainable_weights().size(), 2U);
    const std::vector<Tensor> before = layer.get_weights();
    const Tensor inference = result_of(layer, x);
    const Tensor training = result_of(layer, x, /*training=*/true);
    EXPECT_EQ(inference.identical(training), !of_batch);
    model.compile({.optimizer = "sgd", .loss = "mse"});
    model.train_on_batch(x, normal_array({6, 1}, 7));
    const std::vector<Tensor> after = layer.get_weights();
    for (size_t i = 0; i < 4; ++i) EXPECT_TRUE(after[i].identical(before[i])) << i;
  }
}

// Two calls in one program move the averages twice.
TEST(BatchNormalizationTest, SharedLayersMoveTheirAveragesAtEachCall) {
  const Tensor a = normal_array({4, 2}, 8);
  const Tensor b = normal_array({4, 2}, 9);
  const layers::BatchNormalization layer({.momentum = 0.5});
  const std::vector<KerasTensor> inputs = {Input({2}), Input({2})};
  const Model model(inputs, layers::add({layer(inputs[0]), layer(inputs[1])}));
  model.compile({.optimizer = optimizers::SGD(0), .loss = "mse"});
  model.train_on_batch(std::vector<Tensor>{a, b}, a);
  const FeatureMoments first = moments_by(a, {1});
  const FeatureMoments second = moments_by(b, {1});
  std::vector<double> mean;
  for (size_t f = 0; f < 2; ++f) mean.push_back(0.25 * first.mean[f] + 0.5 * second.mean[f]);
  expect_all_near(layer.get_weights()[2], mean, 1e-5);
}

TEST(BatchNormalizationTest, HasItsGradients) {
  const Tensor x = normal_array({5, 3}, 11);
  const Tensor y = normal_array({5, 2}, 12);
  expect_gradients(Sequential({layers::Dense(2, {.input_shape = Shape{3}}),
                               layers::BatchNormalization(), layers::Dense(2)}),
                   {x}, y);
}

TEST(BatchNormalizationTest, ReadsConfigurations) {
  const Tensor x = normal_array({2, 3, 4}, 13);
  expect_json_round_trip(layers::BatchNormalization(), x);
  expect_json_round_trip(layers::BatchNormalization({.axis = {1, 2},
                                                     .momentum = 0.9,
                                                     .center = false,
                                                     .gamma_regularizer = "l2",
                                                     .batch_statistics_when_frozen = true}),
                         x);
  const auto make = [](const Json& config) {
    return find_layer_class("BatchNormalization").from_config(config);
  };
  EXPECT_EQ(make({{"axis", Json::array({3})}, {"renorm", false}})->class_name(),
            "BatchNormalization");
  EXPECT_THAT(error_of([&] { make({{"renorm", true}}); }), HasSubstr("'renorm'"));
  EXPECT_THAT(error_of([&] {
                make({{"virtual_batch_size", 4}});
              }),
              HasSubstr("'virtual_batch_size'"));
  EXPECT_THAT(error_of([] { layers::BatchNormalization({.axis = 3})(Input({3})); }),
              HasSubstr("axis, got 3"));
  EXPECT_THAT(error_of([] { layers::BatchNormalization()(Input({-1})); }),
              HasSubstr("Input has undefined `axis` dimension. Input shape: (None, None)"));
}

TEST(LayerNormalizationTest, NormalizesEachExample) {
  const Tensor x = normal_array({3, 4, 5}, 14);
  struct Row {
    AxisList axis;
    std::vector<int> others;  // the axes that are not summed over
    std::vector<int> summed;
  };
  for (const Row& row : {Row{-1, {0, 1}, {2}}, Row{1, {0, 2}, {1}}, Row{{1, 2}, {0}, {1, 2}}}) {
    const layers::LayerNormalization layer({.axis = row.axis});
    result_of(layer, x);
    const Shape shape = layer.weights()[0]->shape();
    layer.set_weights({normal_array(shape, 15), normal_array(shape, 16)});
    const std::vector<Tensor> weights = layer.get_weights();
    const FeatureMoments m = moments_by(x, row.others);
    const FeatureMoments parameters = moments_by(x, row.summed);
    std::vector<double> expected;
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      const size_t f = m.feature[i];
      const auto p = static_cast<int64_t>(parameters.feature[i]);
      expected.push_back((x.as_double(i) - m.mean[f]) / std::sqrt(m.variance[f] + 1e-3) *
                             weights[0].as_double(p) +
                         weights[1].as_double(p));
    }
    expect_all_near(result_of(layer, x), expected, 1e-5);
  }
}

TEST(LayerNormalizationTest, HasItsGradientsAndReadsConfigurations) {
  const Tensor x = normal_array({3, 4}, 17);
  expect_gradients(Sequential({layers::Dense(3, {.input_shape = Shape{4}}),
                               layers::LayerNormalization(), layers::Dense(1)}),
                   {x}, normal_array({3, 1}, 18));
  expect_json_round_trip(layers::LayerNormalization({.epsilon = 0.1, .scale = false}), x);
}

}  // namespace
}  // namespace systole::keras
