// What tests of layers share.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "systole/base/random.h"
#include "systole/keras/keras.h"
#include "systole/keras/models/serialization.h"

namespace systole::keras {

// Normal numbers.
inline Tensor normal_array(const Shape& shape, uint64_t seed) {
  Tensor t(DType::f32, shape);
  RandomStream stream(seed);
  for (float& x : t.data<float>()) x = static_cast<float>(stream.next_normal());
  return t;
}

inline KerasTensor input_like(const Tensor& x) {
  return Input(Shape(Dims(x.shape().begin() + 1, x.shape().end())));
}

// The result for one batch, in training where `training` says so.
inline Tensor result_of(const Layer& layer, const std::vector<Tensor>& x, bool training = false) {
  std::vector<KerasTensor> inputs;
  for (const Tensor& array : x) inputs.push_back(input_like(array));
  const Model model(inputs, layer(inputs, {.training = training}));
  return model.predict(x, {.batch_size = x[0].dim(0)});
}
inline Tensor result_of(const Layer& layer, const Tensor& x, bool training = false) {
  return result_of(layer, std::vector<Tensor>{x}, training);
}

inline void expect_all_near(const Tensor& got, const std::vector<double>& expected,
                            double tolerance) {
  ASSERT_EQ(static_cast<size_t>(got.num_elements()), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(got.as_double(static_cast<int64_t>(i)), expected[i],
                tolerance * std::max(1.0, std::abs(expected[i])))
        << "element " << i;
  }
}

// Compares the gradients of the mean squared error by all trainable weights, in training, with
// central differences, at fixed values of these weights.
inline void expect_gradients(const Model& model, const std::vector<Tensor>& x, const Tensor& y) {
  RandomStream random(17);
  for (const WeightPtr& weight : model.weights()) {
    if (!weight->trainable()) continue;
    Tensor value(DType::f32, weight->shape());
    for (float& v : value.data<float>()) v = 0.3F + 0.5F * static_cast<float>(random.next_normal());
    weight->set_value(std::move(value));
  }
  const std::vector<Tensor> start = model.get_weights();
  model.compile({.optimizer = optimizers::SGD(1), .loss = "mse"});
  model.train_on_batch(x, y);
  const std::vector<Tensor> stepped = model.get_weights();
  model.compile({.optimizer = optimizers::SGD(0), .loss = "mse"});
  const auto loss_at = [&](size_t weight, size_t element, float change) {
    std::vector<Tensor> weights;
    for (const Tensor& w : start) weights.push_back(w.clone());
    weights[weight].data<float>()[element] += change;
    model.set_weights(weights);
    return static_cast<double>(model.train_on_batch(x, y));
  };
  constexpr float kStep = 1.0F / 64;
  const std::vector<WeightPtr> weights = model.weights();
  for (size_t w = 0; w < weights.size(); ++w) {
    if (!weights[w]->trainable()) continue;
    for (size_t i = 0; i < static_cast<size_t>(start[w].num_elements()); ++i) {
      const auto central = [&](float step) {
        return (loss_at(w, i, step) - loss_at(w, i, -step)) / (2.0 * static_cast<double>(step));
      };
      // Without the error of second order (Richardson's extrapolation).
      const double difference = (4.0 * central(kStep / 2) - central(kStep)) / 3.0;
      const double gradient = static_cast<double>(start[w].data<float>()[i]) -
                              static_cast<double>(stepped[w].data<float>()[i]);
      ASSERT_NEAR(gradient, difference, 2e-3 * std::max(1.0, std::abs(difference)))
          << weights[w]->name() << ", element " << i;
    }
  }
  model.set_weights(start);
}

// A model of this layer read back from its JSON has the same JSON and, with the same weights, the
// same results.
inline void expect_json_round_trip(const Layer& layer, const std::vector<Tensor>& x) {
  SCOPED_TRACE(layer.class_name());
  std::vector<KerasTensor> inputs;
  for (const Tensor& array : x) inputs.push_back(input_like(array));
  const Model model(inputs, layer(inputs));
  const Model again = model_from_json(model.to_json());
  EXPECT_EQ(again.to_json(), model.to_json());
  again.set_weights(model.get_weights());
  EXPECT_TRUE(again.predict(x).identical(model.predict(x)));
}
inline void expect_json_round_trip(const Layer& layer, const Tensor& x) {
  expect_json_round_trip(layer, std::vector<Tensor>{x});
}

}  // namespace systole::keras
