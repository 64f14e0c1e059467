#include "systole/keras/functions/metric.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "systole/base/testing/error_of.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/keras/testing/layer_checks.h"
#include "systole/keras/testing/value_of.h"

namespace systole::keras {
namespace {

using systole::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor metric_value(const MetricSpec& metric, const Tensor& t, const Tensor& p,
                    const LossSpec& loss = "mse") {
  const MetricSpec::Resolved resolved = metric.resolve(p.shape(), t.shape(), loss);
  return value_of([&] { return resolved.function(constant(t), constant(p)); });
}

size_t argmax_of(const Tensor& t, int64_t row) {
  const auto width = static_cast<size_t>(t.dim(1));
  const auto values = t.data<float>().subspan(static_cast<size_t>(row) * width, width);
  return static_cast<size_t>(std::ranges::max_element(values) - values.begin());
}

// The number of predictions that are larger than that of the class.
int64_t rank_of(const Tensor& p, int64_t row, size_t label) {
  const auto width = static_cast<size_t>(p.dim(1));
  const auto values = p.data<float>().subspan(static_cast<size_t>(row) * width, width);
  return std::ranges::count_if(values, [&](float v) { return v > values[label]; });
}

TEST(MetricTest, AccuraciesCountWhatIsRight) {
  constexpr int64_t kExamples = 40;
  constexpr int64_t kLabels = 9;
  const Tensor p = normal_array({kExamples, kLabels}, 1);
  const Tensor one_hot = normal_array({kExamples, kLabels}, 2);  // its largest is the class
  Tensor index(DType::f32, {kExamples, 1});
  std::vector<double> right;
  std::vector<double> top_5;
  std::vector<double> top_2;
  for (int64_t n = 0; n < kExamples; ++n) {
    const size_t label = argmax_of(one_hot, n);
    index.data<float>()[n] = static_cast<float>(label);
    right.push_back(argmax_of(p, n) == label ? 1 : 0);
    top_5.push_back(rank_of(p, n, label) < 5 ? 1 : 0);
    top_2.push_back(rank_of(p, n, label) < 2 ? 1 : 0);
  }
  std::set<std::string> tested;
  const auto value = [&](const char* name, const Tensor& target, const Tensor& prediction) {
    tested.insert(name);
    return metric_value(name, target, prediction);
  };
  expect_all_near(value("categorical_accuracy", one_hot, p), right, 0);
  expect_all_near(value("sparse_categorical_accuracy", index, p), right, 0);
  expect_all_near(value("sparse_categorical_accuracy", index.reshape({kExamples}), p), right, 0);
  expect_all_near(value("top_k_categorical_accuracy", one_hot, p), top_5, 0);
  expect_all_near(value("sparse_top_k_categorical_accuracy", index, p), top_5, 0);
  expect_all_near(metric_value(top_k_categorical_accuracy(2), one_hot, p), top_2, 0);
  expect_all_near(metric_value(sparse_top_k_categorical_accuracy(2), index, p), top_2, 0);

  const Tensor t = Tensor::of<float>({2, 4}, {1, 0, 1, 0, 1, 1, 0, 0});
  const Tensor q = Tensor::of<float>({2, 4}, {0.9F, 0.4F, 0.5F, 0.6F, 0.6F, 0.7F, 0.1F, 0.2F});
  expect_all_near(value("binary_accuracy", t, q), {0.5, 1}, 0);

  // Losses as metrics are those of LossTest; the names that depend on the loss follow below.
  for (const std::string& name : loss_names()) tested.insert(name);
  tested.insert({"accuracy", "acc", "crossentropy", "ce"});
  for (const std::string& name : metric_names()) {
    EXPECT_TRUE(tested.contains(name) || name.starts_with("test_")) << name;
  }
}

TEST(MetricTest, AccuracyFitsOutputTargetsAndLoss) {
  const auto same_as = [](const char* name, const Shape& output, const Shape& target,
                          const LossSpec& loss) {
    Tensor t = Tensor::zeros(DType::f32, target);
    Tensor p = normal_array(output, 3);
    for (float& v : p.data<float>()) v = 1 / (1 + std::exp(-v));
    for (size_t i = 0; i < t.data<float>().size(); i += 2) t.data<float>()[i] = 1;
    return metric_value("accuracy", t, p, loss).identical(metric_value(name, t, p, loss));
  };
  EXPECT_TRUE(same_as("binary_accuracy", {30, 1}, {30, 1}, "mse"));
  EXPECT_TRUE(same_as("binary_accuracy", {30, 3}, {30, 3}, "binary_crossentropy"));
  EXPECT_TRUE(same_as("categorical_accuracy", {30, 3}, {30, 3}, "categorical_crossentropy"));
  EXPECT_TRUE(
      same_as("sparse_categorical_accuracy", {30, 3}, {30, 1}, "sparse_categorical_crossentropy"));
  // A loss of the program: the targets decide.
  const LossSpec own(
      [](const Output& t, const Output& p) { return reduce_mean(square(t - p), {.axis = -1}); });
  EXPECT_TRUE(same_as("sparse_categorical_accuracy", {30, 3}, {30, 1}, own));
  EXPECT_TRUE(same_as("categorical_accuracy", {30, 3}, {30, 3}, own));
}

TEST(MetricTest, NamesAreThoseOfKeras) {
  const Tensor x = normal_array({4, 2}, 4);
  const Sequential model({layers::Dense(2, {.activation = "softmax", .input_shape = Shape{2}})});
  model.compile({.optimizer = "sgd",
                 .loss = "categorical_crossentropy",
                 .metrics = {"accuracy", "ce", "mse", "mse"},
                 .weighted_metrics = {"acc"}});
  const Scores scores = model.evaluate(x, x, {.verbose = 0});
  EXPECT_THAT(scores.names, ElementsAre("loss", "acc", "ce", "mean_squared_error",
                                        "mean_squared_error_1", "weighted_acc"));
  EXPECT_THAT(error_of([&] {
                model.compile({.optimizer = "sgd", .loss = "mse", .metrics = {"acuracy"}});
                model.evaluate(x, x, {.verbose = 0});
              }),
              HasSubstr("Unknown metric function:acuracy, did you mean 'accuracy'?"));
}

// `metrics` see no sample weights, `weighted_metrics` and the loss do.
TEST(MetricTest, SampleWeightsCountInWeightedMetrics) {
  const Tensor x = Tensor::of<float>({4, 1}, {1, 2, 3, 4});
  const Tensor y = Tensor::of<float>({4, 1}, {0, 0, 0, 0});
  const Sequential model({layers::Dense(1, {.use_bias = false, .input_shape = Shape{1}})});
  model.set_weights({Tensor::of<float>({1, 1}, {1})});
  model.compile(
      {.optimizer = "sgd", .loss = "mae", .metrics = {"mae"}, .weighted_metrics = {"mae"}});
  const Scores scores =
      model.evaluate(x, y, {.verbose = 0, .sample_weight = {Tensor::of<float>({4}, {1, 0, 0, 3})}});
  EXPECT_NEAR(scores["mean_absolute_error"], 2.5, 1e-6);
  EXPECT_NEAR(scores["weighted_mean_absolute_error"], 13.0 / 4, 1e-6);
  EXPECT_NEAR(scores["loss"], 13.0 / 4, 1e-6);
}

// Weights of steps, [examples, steps]; what pads the batch has weight 0 on every core.
TEST(MetricTest, StepsHaveWeights) {
  const Tensor x = Tensor::of<float>({3, 2, 1}, {1, 2, 3, 4, 5, 6});
  const Tensor y = Tensor::zeros(DType::f32, {3, 2, 1});
  const Tensor weights = Tensor::of<float>({3, 2}, {1, 0, 2, 0, 0, 1});
  for (const Placement& place : {Placement{}, Placement{"local:v3-8", 8}}) {
    const Sequential model({layers::Dense(1, {.use_bias = false, .input_shape = Shape{2, 1}})});
    model.set_weights({Tensor::of<float>({1, 1}, {1})});
    model.place(place);
    model.compile({.optimizer = "sgd",
                   .loss = "mae",
                   .weighted_metrics = {"mse"},
                   .sample_weight_mode = "temporal"});
    const Scores scores =
        model.evaluate(x, y, {.batch_size = 8, .verbose = 0, .sample_weight = {weights}});
    EXPECT_NEAR(scores["loss"], (1 + 2 * 3 + 6) / 4.0, 1e-6);
    EXPECT_NEAR(scores["weighted_mean_squared_error"], (1 + 2 * 9 + 36) / 4.0, 1e-5);
  }
}

TEST(MetricTest, ProgramsRegisterMetrics) {
  register_metric("test_largest",
                  [](const Output&, const Output& p) { return reduce_max(p, {.axis = -1}); });
  expect_all_near(metric_value("test_largest", Tensor::of<float>({1, 2}, {0, 0}),
                               Tensor::of<float>({1, 2}, {3, 5})),
                  {5}, 0);
  EXPECT_THAT(error_of([] { register_metric("test_largest", nullptr); }),
              HasSubstr("registered already"));
}

// A masked model: batches have other numbers of steps that count, so that the mean over batches is
// not the mean over steps. Objects give the latter, and start anew with each epoch and evaluation.
TEST(MetricTest, ObjectsSumOverBatches) {
  // One step of the first batch, five of the second: differences 1; 3, 3, 3, 3, 3.
  const Tensor x = Tensor::of<float>({4, 3, 1}, {1, 0, 0, 0, 0, 0, 3, 3, 3, 3, 3, 0});
  const Tensor y = Tensor::zeros(DType::f32, {4, 3, 1});
  for (const Placement& place : {Placement{}, Placement{"local:v3-8", 8}}) {
    const Sequential model({layers::Masking(0.0, {.input_shape = Shape{3, 1}}),
                            layers::Dense(1, {.use_bias = false})});
    model.set_weights({Tensor::of<float>({1, 1}, {1})});
    model.place(place);
    const auto difference = [](const Output& t, const Output& p) {
      return reduce_mean(abs(t - p), {.axis = -1});
    };
    model.compile({.optimizer = optimizers::SGD(0),
                   .loss = "mse",
                   .metrics = {"mae", metrics::Mean("object", difference)}});
    const History history = model.fit(x, y,
                                      {.batch_size = 2,
                                       .epochs = 2,
                                       .verbose = 0,
                                       .validation_data = Arrays{{x}, {y}},
                                       .shuffle = false});
    for (const char* prefix : {"", "val_"}) {
      for (size_t epoch = 0; epoch < 2; ++epoch) {
        const auto of = [&](const std::string& name) {
          return history.history.at(prefix + name).at(epoch);
        };
        EXPECT_NEAR(of("mean_absolute_error"), (1 + 3) / 2.0, 1e-6);
        EXPECT_NEAR(of("object"), (1 + 5 * 3) / 6.0, 1e-6);
      }
    }
    EXPECT_NEAR(model.evaluate(x, y, {.batch_size = 2, .verbose = 0})["object"], 16.0 / 6, 1e-6);
  }
}

}  // namespace
}  // namespace systole::keras
