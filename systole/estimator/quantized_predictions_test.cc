// Predictions of estimators by 8-bit integers, and models that were trained for them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "systole/base/random.h"
#include "systole/base/testing/error_of.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/estimator/estimator.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/nn_ops.h"
#include "systole/graph/functions/variable_scope.h"
#include "systole/train/layers.h"
#include "systole/train/losses/losses.h"
#include "systole/train/optimizer.h"

namespace systole {
namespace {

using systole::testing::error_of;
using systole::testing::TempFolder;
using ::testing::HasSubstr;

constexpr int64_t kRows = 96;
constexpr int64_t kFeatures = 6;

Tensor normal_inputs(double scale) {
  RandomStream random(7);
  Tensor x(DType::f32, {kRows, kFeatures});
  for (float& value : x.data<float>()) value = static_cast<float>(scale * random.next_normal());
  return x;
}

// Features from a normal distribution; the label is a function of two of them.
Element quantized_examples(double scale) {
  const Tensor x = normal_inputs(scale);
  Tensor y(DType::f32, {kRows, 1});
  for (size_t i = 0; i < kRows; ++i) {
    y.data<float>()[i] =
        std::abs(x.data<float>()[kFeatures * i]) - 0.5F * x.data<float>()[kFeatures * i + 1];
  }
  return Element::tuple({x, y});
}

InputFn quantized_training_input() {
  return [](const Params&) {
    return Dataset::from_tensor_slices(quantized_examples(1)).repeat().batch(32, true);
  };
}

InputFn quantized_features(double scale, int64_t batch = 32) {
  return [=](const Params&) {
    return Dataset::from_tensor_slices(Element(normal_inputs(scale))).batch(batch);
  };
}

TPUEstimatorSpec spec_of(const Output& y, const Nest<Output>& labels, Mode mode) {
  if (mode == Mode::predict) return {.mode = mode, .predictions = Nest<Output>::dict({{"y", y}})};
  const Output loss = losses::mean_squared_error({.labels = labels, .predictions = y});
  return {.mode = mode,
          .loss = loss,
          .train_op = AdamOptimizer(0.01).minimize(loss, {.global_step = get_global_step()})};
}

TPUEstimatorSpec plain_model(const Nest<Output>& features, const Nest<Output>& labels, Mode mode,
                             const Params&) {
  const Output hidden = layers::dense(features, {.units = 20, .activation = relu});
  return spec_of(layers::dense(hidden, {.units = 1}), labels, mode);
}

// Every activation has a range of its own.
TPUEstimatorSpec quantization_aware_model(const Nest<Output>& features, const Nest<Output>& labels,
                                          Mode mode, const Params&) {
  const bool training = mode == Mode::train;
  const auto rounded = [&](const Output& x) {
    return layers::fake_quant(x, {.momentum = 0.9, .training = training});
  };
  const auto dense = [&](const Output& x, int64_t units, const std::string& name) {
    const VariableScope scope(name);
    const Variable w = get_variable("w", {x.shape()[1], units});
    const Variable b = get_variable("b", {units});
    return add(matmul(x, layers::fake_quant_weights(w)), b);
  };
  const Output hidden = rounded(relu(dense(rounded(features), 20, "hidden")));
  return spec_of(rounded(dense(hidden, 1, "out")), labels, mode);
}

class QuantizedPredictionsTest : public ::testing::Test {
 protected:
  TPUEstimator trained(const ModelFn& model_fn, bool use_tpu = false) {
    TPUEstimator estimator({.model_fn = model_fn,
                            .model_dir = folder_ / "model",
                            .config = {.tf_random_seed = 3, .tpu_config = {.check = Check::off}},
                            .use_tpu = use_tpu,
                            .train_batch_size = 32,
                            .eval_batch_size = 32,
                            .predict_batch_size = 32});
    estimator.train(quantized_training_input(), {.max_steps = 200});
    return estimator;
  }

  static std::vector<float> predictions(TPUEstimator& estimator, const PredictOptions& options,
                                        int64_t batch = 32) {
    std::vector<float> values;
    for (const auto& prediction : estimator.predict(quantized_features(1, batch), options))
      values.push_back(prediction["y"].leaf().item<float>());
    return values;
  }

  static PredictOptions on(const std::string& device, double scale = 1) {
    return {.quantized = QuantizedPredictOptions{.calibration_input_fn = quantized_features(scale),
                                                 .device = device}};
  }

  const TempFolder folder_;
};

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = a.size() == b.size() ? 0 : INFINITY;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    largest = std::max(largest, std::abs(static_cast<double>(a[i]) - b[i]));
  return largest;
}

TEST_F(QuantizedPredictionsTest, equal_on_all_devices_and_near_the_float_model) {
  TPUEstimator estimator = trained(plain_model);
  const std::vector<float> real = predictions(estimator, {});
  const std::vector<float> machine = predictions(estimator, on("tpu_v1"));
  ASSERT_EQ(machine.size(), static_cast<size_t>(kRows));
  EXPECT_EQ(machine, predictions(estimator, on("cpu")));
  EXPECT_EQ(machine, predictions(estimator, on("reference")));
  EXPECT_LT(largest_difference(real, machine), 0.2);
  EXPECT_GT(largest_difference(real, machine), 0);
  // The last batch is smaller.
  EXPECT_EQ(machine, predictions(estimator, on("tpu_v1"), 20));
}

TEST_F(QuantizedPredictionsTest, batches_of_replicas) {
  TPUEstimator estimator = trained(plain_model, true);
  EXPECT_EQ(predictions(estimator, on("tpu_v1")), predictions(estimator, on("cpu")));
}

// Calibration data of another scale change nothing: all ranges are those of training.
TEST_F(QuantizedPredictionsTest, models_trained_with_fake_quant_keep_their_ranges) {
  TPUEstimator estimator = trained(quantization_aware_model);
  const std::vector<float> real = predictions(estimator, {});
  const std::vector<float> machine = predictions(estimator, on("tpu_v1"));
  EXPECT_EQ(machine, predictions(estimator, on("tpu_v1", 0.01)));
  EXPECT_EQ(machine, predictions(estimator, on("cpu")));
  // Both round to the same grid; sums at the middle of two values may differ by a step.
  EXPECT_LT(largest_difference(real, machine), 0.1);
}

TEST_F(QuantizedPredictionsTest, name_what_is_wrong) {
  TPUEstimator estimator = trained(plain_model);
  const auto error = [&](QuantizedPredictOptions options) {
    return error_of([&] {
      estimator.predict(quantized_features(1), {.quantized = std::move(options)}).next();
    });
  };
  EXPECT_THAT(error({}), HasSubstr("input_fn: function, got none, expected one"));
  EXPECT_THAT(error({.calibration_input_fn = quantized_features(1), .device = "tpu_v9"}),
              HasSubstr("tpu_v9"));
  EXPECT_THAT(
      error({.calibration_input_fn =
                 [](const Params&) {
                   return Dataset::from_tensor_slices(Element(Tensor::zeros(DType::f32, {32, 5})))
                       .batch(32);
                 }}),
      HasSubstr("calibration_input_fn: features, got f32[32,5], expected f32[32,6]"));
  EXPECT_THAT(error({.calibration_input_fn =
                         [](const Params&) {
                           return Dataset::from_tensor_slices(
                                      Element(Tensor::full(DType::f32, {32, kFeatures}, NAN)))
                               .batch(32);
                         }}),
              HasSubstr("element 0, got nan, expected a finite number"));
}

}  // namespace
}  // namespace systole
