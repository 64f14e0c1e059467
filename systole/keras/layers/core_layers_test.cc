#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "systole/base/testing/error_of.h"
#include "systole/keras/keras.h"
#include "systole/keras/models/serialization.h"

namespace systole::keras {
namespace {

using systole::testing::error_of;
using ::testing::HasSubstr;

// 0, 1, 2...
Tensor counting(const Shape& shape) {
  Tensor t(DType::f32, shape);
  for (size_t i = 0; i < t.data<float>().size(); ++i) t.data<float>()[i] = static_cast<float>(i);
  return t;
}

Tensor through(const Layer& layer, const Tensor& x) {
  Dims dims(x.shape().begin() + 1, x.shape().end());
  const KerasTensor input = Input(Shape(std::move(dims)));
  return Model(input, layer(input)).predict(x);
}

TEST(CoreLayersTest, MoveElements) {
  const Tensor x = counting({2, 3, 4});
  EXPECT_TRUE(through(layers::Flatten(), x).identical(x.reshape({2, 12})));
  EXPECT_TRUE(through(layers::Reshape({6, -1}), x).identical(x.reshape({2, 6, 2})));
  const Tensor permuted = through(layers::Permute({2, 1}), x);
  EXPECT_EQ(permuted.shape(), (Shape{2, 4, 3}));
  EXPECT_EQ(permuted.data<float>()[1], 4.0F);
  const Tensor repeated = through(layers::RepeatVector(3), counting({2, 2}));
  EXPECT_TRUE(
      repeated.identical(Tensor::of<float>({2, 3, 2}, {0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3})));
  const Tensor last = through(layers::Flatten({.data_format = "channels_first"}), x);
  EXPECT_EQ(last.data<float>()[1], 4.0F);
}

TEST(CoreLayersTest, RefuseWhatDoesNotFit) {
  EXPECT_THAT(error_of([] { layers::Reshape({5})(Input({4})); }),
              HasSubstr("total size of new array must be unchanged"));
  EXPECT_THAT(error_of([] { layers::Permute({1, 3}); }), HasSubstr("dims"));
  EXPECT_THAT(error_of([] { layers::Dropout(1.0); }), HasSubstr("rate, got 1"));
  EXPECT_THAT(error_of([] { layers::Dense(3)(Input({-1})); }),
              HasSubstr("should be defined. Found `None`"));
  EXPECT_THAT(error_of([] { layers::LSTM(3)(Input({4})); }),
              HasSubstr("expected ndim=3, found ndim=2"));
  const layers::Dense dense(3, {.name = "dense"});
  static_cast<void>(dense(Input({4})));
  EXPECT_THAT(error_of([&] { dense(Input({5})); }),
              HasSubstr("layer dense is incompatible with the layer: expected axis -1 of input "
                        "shape to have value 4, got 5. Full shape received: (None, 5)"));
  EXPECT_THAT(
      error_of([] { layers::Dense(3, {.name = "ids"})(Input({4}, {.dtype = DType::s32})); }),
      HasSubstr("Layer ids: Unable to build `Dense` layer with an input of non-floating "
                "point dtype s32"));
}

TEST(CoreLayersTest, RefuseTensorsThatTheyWouldIgnore) {
  const KerasTensor a = Input({4, 4, 3});
  for (const Layer& layer : std::vector<Layer>{
           layers::Dense(3, {.name = "l"}), layers::Conv2D(2, 3, {.name = "l"}),
           layers::Flatten({.name = "l"}), layers::Activation("relu", {.name = "l"}),
           layers::Dropout(0.5, {.name = "l"}), layers::BatchNormalization({.name = "l"}),
           layers::MaxPooling2D(2, {.name = "l"})}) {
    EXPECT_THAT(error_of([&] {
                  layer({a, a});
                }),
                HasSubstr("Layer l expects 1 inputs, but it received 2 input tensors."));
    EXPECT_THAT(error_of([&] { layer(KerasTensors{}); }),
                HasSubstr("Layer l: got no input tensor"));
  }
}

TEST(CoreLayersTest, DropoutKeepsTheMeanInTrainingAndDoesNothingAfter) {
  const Tensor x = Tensor::full(DType::f32, {64, 100}, 1);
  const KerasTensor input = Input({100});
  const layers::Dropout dropout(0.25, {.seed = 3});
  EXPECT_TRUE(Model(input, dropout(input)).predict(x).identical(x));
  const Tensor dropped = Model(input, dropout(input, {.training = true})).predict(x);
  double sum = 0;
  int64_t zeros = 0;
  for (const float value : dropped.data<float>()) {
    sum += static_cast<double>(value);
    zeros += value == 0 ? 1 : 0;
    EXPECT_TRUE(value == 0 || std::abs(value - 4.0F / 3) < 1e-6F);
  }
  EXPECT_NEAR(sum / 6400, 1, 0.05);
  EXPECT_NEAR(static_cast<double>(zeros) / 6400, 0.25, 0.03);
}

// A masked step leaves the state of a recurrent layer as it was.
TEST(CoreLayersTest, MasksReachRecurrentLayersAndAreRefusedElsewhere) {
  const KerasTensor input = Input({3, 2});
  const layers::LSTM lstm(4);
  const Model masked(input, lstm(layers::Masking(9.0)(input)));
  const Model plain(input, lstm(input));
  Tensor x = counting({1, 3, 2});
  x.data<float>()[4] = x.data<float>()[5] = 9;
  const KerasTensor two = Input({2, 2});
  const Model shorter(two, lstm(two));
  const Tensor first(Tensor::of<float>({1, 2, 2}, {0, 1, 2, 3}));
  EXPECT_TRUE(masked.predict(x).identical(shorter.predict(first)));
  EXPECT_FALSE(plain.predict(x).identical(shorter.predict(first)));
  EXPECT_THAT(error_of([&] { layers::Flatten()(layers::Masking()(input)); }),
              HasSubstr("does not support masking"));
}

TEST(CoreLayersTest, ModelsRoundTripThroughJson) {
  Sequential model;
  model.add(layers::Embedding(20, 6, {.mask_zero = true, .input_length = 5}));
  model.add(layers::LSTM(4, {.dropout = 0.1, .return_sequences = true}));
  model.add(layers::LSTM(3, {.go_backwards = true}));
  model.add(layers::Dropout(0.5));
  model.add(layers::Dense(2, {.activation = "softmax", .kernel_regularizer = "l2"}));
  const Model again = model_from_json(model.to_json());
  EXPECT_EQ(again.to_json(), model.to_json());
  again.set_weights(model.get_weights());
  const Tensor ids = Tensor::of<float>({2, 5}, {1, 2, 3, 0, 0, 4, 5, 6, 7, 8});
  EXPECT_TRUE(again.predict(ids).identical(model.predict(ids)));

  const KerasTensor a = Input({4});
  const layers::Dense shared(3, {.activation = "relu"});
  const KerasTensors once = shared(a);
  const Model network(a, {once, layers::Dense(1)(once)});
  const Model copy = model_from_json(network.to_json());
  EXPECT_EQ(copy.to_json(), network.to_json());
  EXPECT_THAT(error_of([] { model_from_json("{\"class_name\": \"Model\"}"); }),
              HasSubstr("configuration that is not Keras's"));
  EXPECT_THAT(error_of([] {
                model_from_json(R"({"class_name": "Sequential", "config": {"layers": [
                         {"class_name": "Dens", "config": {}}]}})");
              }),
              HasSubstr("Unknown layer: Dens, did you mean 'Dense'?"));
}

TEST(CallbacksTest, StopReduceAndSchedule) {
  const Tensor x = counting({8, 1});
  const Sequential model({layers::Dense(1, {.input_shape = Shape{1}})});
  model.compile({.optimizer = optimizers::SGD(0.0), .loss = "mse"});
  std::vector<double> rates;
  const auto watch = callbacks::LambdaCallback(
      {.on_epoch_end = [&](int64_t, Logs& logs) { rates.push_back(*logs.find("lr")); }});
  const History history =
      model.fit(x, x,
                {.epochs = 10,
                 .verbose = 0,
                 .callbacks = {callbacks::ReduceLROnPlateau(
                                   {.monitor = "loss", .factor = 0.5, .patience = 2}),
                               watch, callbacks::EarlyStopping({.monitor = "loss", .patience = 4})},
                 .shuffle = false});
  EXPECT_EQ(history.epoch.size(), 5U);
  EXPECT_EQ(history.history.at("lr").size(), 5U);
  EXPECT_THAT(
      error_of([&] { model.fit(x, x, {.verbose = 0, .callbacks = {callbacks::EarlyStopping()}}); }),
      HasSubstr("monitor, got 'val_loss', expected one of loss"));
  const auto schedule = callbacks::LearningRateScheduler(
      [](int64_t epoch, double) { return epoch == 0 ? 0.5 : 0.25; });
  model.fit(x, x, {.epochs = 2, .verbose = 0, .callbacks = {schedule}});
  EXPECT_EQ(model.model()->trainer->options().optimizer->lr()->value().item<float>(), 0.25F);
}

}  // namespace
}  // namespace systole::keras
