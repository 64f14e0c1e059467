#include "systole/keras/layers/advanced_activations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "systole/base/testing/error_of.h"
#include "systole/graph/api/math_ops.h"
#include "systole/keras/testing/layer_checks.h"

namespace systole::keras {
namespace {

using systole::testing::error_of;
using ::testing::HasSubstr;

struct ActivationLayerCase {
  Layer layer;
  std::function<double(double)> value;
};

std::vector<ActivationLayerCase> activation_layer_cases() {
  return {
      {layers::LeakyReLU(), [](double x) { return x > 0 ? x : 0.3 * x; }},
      {layers::LeakyReLU(0.1), [](double x) { return x > 0 ? x : 0.1 * x; }},
      {layers::ELU(), [](double x) { return x > 0 ? x : std::expm1(x); }},
      {layers::ELU(0.5), [](double x) { return x > 0 ? x : 0.5 * std::expm1(x); }},
      {layers::ThresholdedReLU(), [](double x) { return x > 1 ? x : 0; }},
      {layers::ThresholdedReLU(0.25), [](double x) { return x > 0.25 ? x : 0; }},
      {layers::ReLU(), [](double x) { return std::max(x, 0.0); }},
      {layers::ReLU(0.5), [](double x) { return std::min(std::max(x, 0.0), 0.5); }},
      {layers::ReLU({.max_value = 1.5, .negative_slope = 0.2, .threshold = 0.5}),
       [](double x) { return x > 0.5 ? std::min(x, 1.5) : 0.2 * (x - 0.5); }},
      {layers::ReLU({.negative_slope = 0.2, .threshold = -0.5}),
       [](double x) { return x > -0.5 ? x : 0.2 * (x + 0.5); }},
  };
}

TEST(AdvancedActivationsTest, ComputeTheirFormulas) {
  const Tensor x = normal_array({5, 7}, 1);
  for (const ActivationLayerCase& row : activation_layer_cases()) {
    SCOPED_TRACE(row.layer.name());
    std::vector<double> expected;
    for (int64_t i = 0; i < x.num_elements(); ++i) expected.push_back(row.value(x.as_double(i)));
    expect_all_near(result_of(row.layer, x), expected, 1e-6);
    expect_json_round_trip(row.layer, x);
  }
}

TEST(AdvancedActivationsTest, SoftmaxAlongAnAxis) {
  const Tensor x = normal_array({2, 3, 4}, 2);
  std::vector<double> expected(24);
  for (int64_t n = 0; n < 2; ++n) {
    for (int64_t j = 0; j < 4; ++j) {
      double sum = 0;
      for (int64_t i = 0; i < 3; ++i) sum += std::exp(x.as_double((n * 3 + i) * 4 + j));
      for (int64_t i = 0; i < 3; ++i) {
        const int64_t at = (n * 3 + i) * 4 + j;
        expected[at] = std::exp(x.as_double(at)) / sum;
      }
    }
  }
  expect_all_near(result_of(layers::Softmax(1), x), expected, 1e-6);
  expect_json_round_trip(layers::Softmax(1), x);
}

TEST(AdvancedActivationsTest, PReluLearnsItsSlopes) {
  const Tensor x = normal_array({2, 3, 4}, 3);
  const layers::PReLU each;
  result_of(each, x);
  EXPECT_EQ(each.weights()[0]->shape(), (Shape{3, 4}));
  const layers::PReLU shared(
      {.alpha_initializer = initializers::Constant(0.25), .shared_axes = std::vector<int64_t>{1}});
  result_of(shared, x);
  EXPECT_EQ(shared.weights()[0]->shape(), (Shape{1, 4}));
  shared.set_weights({normal_array({1, 4}, 4)});
  const Tensor alpha = shared.get_weights()[0];
  std::vector<double> expected;
  for (int64_t i = 0; i < 24; ++i) {
    const double v = x.as_double(i);
    expected.push_back(v > 0 ? v : alpha.as_double(i % 4) * v);
  }
  expect_all_near(result_of(shared, x), expected, 1e-6);
  expect_json_round_trip(shared, x);
  EXPECT_THAT(error_of([] {
                layers::PReLU({.shared_axes = std::vector<int64_t>{3}})(Input({4, 4}));
              }),
              HasSubstr("shared_axes, got 3, expected axes from 1 to 2"));
  // The input stays away from 0, where the function has no derivative.
  const Tensor rows = Tensor::of<float>({2, 2}, {1, -2, -1.5F, 0.75F});
  expect_gradients(
      Sequential({layers::PReLU({.alpha_initializer = "ones", .input_shape = Shape{2}}),
                  layers::Dense(2)}),
      {rows}, normal_array({2, 2}, 5));
}

TEST(AdvancedActivationsTest, RefuseNegativeLimits) {
  EXPECT_THAT(error_of([] { layers::ReLU(-1.0); }),
              HasSubstr("max_value of Relu layer cannot be negative value: -1"));
  EXPECT_THAT(error_of([] { layers::ReLU({.negative_slope = -0.5}); }),
              HasSubstr("negative_slope of Relu layer cannot be negative value: -0.5"));
}

TEST(AdvancedActivationsTest, PassMasks) {
  const KerasTensor x = layers::Masking()(Input({3, 2}));
  for (const Layer& layer : std::vector<Layer>{
           layers::LeakyReLU(), layers::PReLU(), layers::ELU(), layers::ThresholdedReLU(),
           layers::Softmax(), layers::ReLU(), layers::BatchNormalization(),
           layers::GaussianNoise(1), layers::GaussianDropout(0.5), layers::AlphaDropout(0.5),
           layers::ActivityRegularization()}) {
    const KerasTensors y = layer(x);
    EXPECT_TRUE(y.only().call()->mask_shapes[0].has_value()) << layer.class_name();
  }
}

// l1 sum|x| + l2 sum x^2 of the examples, not of what pads the batch, on one core and on eight.
TEST(ActivityRegularizationTest, AddsItsPenalty) {
  const Tensor x = normal_array({5, 3}, 6);
  double penalty = 0;
  for (int64_t i = 0; i < 15; ++i) {
    penalty += 0.1 * std::abs(x.as_double(i)) + 0.2 * x.as_double(i) * x.as_double(i);
  }
  for (const Placement& place : {Placement{}, Placement{"local:v3-8", 8}}) {
    const Sequential model(
        {layers::ActivityRegularization({.l1 = 0.1, .l2 = 0.2, .input_shape = Shape{3}})});
    model.place(place);
    model.compile({.optimizer = "sgd", .loss = "mse"});
    EXPECT_NEAR(model.evaluate(x, x, {.batch_size = 8, .verbose = 0}), penalty, 1e-5);
  }
  expect_json_round_trip(layers::ActivityRegularization({.l1 = 0.5}), x);
}

TEST(LambdaTest, CallsItsFunction) {
  const Tensor x = normal_array({2, 3}, 7);
  const layers::Lambda doubled("test_doubled", [](const Output& v) { return v * 2.0F; });
  std::vector<double> expected;
  for (int64_t i = 0; i < 6; ++i) expected.push_back(2 * x.as_double(i));
  expect_all_near(result_of(doubled, x), expected, 1e-6);
  expect_all_near(result_of(layers::Lambda("test_doubled"), x), expected, 1e-6);
  expect_json_round_trip(doubled, x);
  const layers::Lambda sum("test_sum", [](const std::vector<Output>& v) { return v[0] + v[1]; });
  expect_all_near(result_of(sum, {x, x}), expected, 1e-6);
  expect_json_round_trip(sum, {x, x});

  const layers::Lambda bare([](const Output& v) { return v * 2.0F; });
  expect_all_near(result_of(bare, x), expected, 1e-6);
  EXPECT_THAT(error_of([&] { bare.get_config(); }), HasSubstr("cannot be saved"));
  EXPECT_THAT(error_of([] { layers::Lambda("test_double"); }),
              HasSubstr("Unknown function:test_double, did you mean 'test_doubled'?"));
  EXPECT_THAT(error_of([&] {
                bare(layers::Masking()(Input({3, 2})));
              }),
              HasSubstr("does not support masking"));
  const layers::Lambda passing([](const Output& v) { return v * 2.0F; },
                               {.mask = [](const Output& mask) { return mask; }});
  const KerasTensors masked = passing(layers::Masking()(Input({3, 2})));
  EXPECT_TRUE(masked.only().call()->mask_shapes[0].has_value());
}

TEST(LambdaTest, ReadsFilesWithArguments) {
  layers::register_lambda("test_scaled", [](const std::vector<Output>& v, const Json& arguments) {
    return std::vector<Output>{v[0] * arguments.at("scale").get<double>()};
  });
  const Model model = model_from_json(R"({"class_name": "Sequential", "config": {"layers": [
      {"class_name": "Lambda", "config": {"name": "l", "batch_input_shape": [null, 2],
       "function": "test_scaled", "function_type": "function", "arguments": {"scale": 3}}}]}})");
  expect_all_near(model.predict(Tensor::of<float>({1, 2}, {1, 2})), {3, 6}, 0);
  EXPECT_EQ(model_from_json(model.to_json()).to_json(), model.to_json());
  EXPECT_THAT(error_of([] {
                model_from_json(R"({"class_name": "Sequential", "config": {"layers": [
      {"class_name": "Lambda", "config": {"name": "l", "function_type": "lambda",
       "function": ["4wEAAA", null, null]}}]}})");
              }),
              HasSubstr("the bytecode of a Python lambda"));
}

}  // namespace
}  // namespace systole::keras
