// Bidirectional, TimeDistributed, states, and configurations of layers inside layers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/base/testing/error_of.h"
#include "systole/keras/engine/layer_class.h"
#include "systole/keras/keras.h"
#include "systole/keras/layers/testing/recurrent_reference.h"
#include "systole/keras/models/serialization.h"

namespace systole::keras::layers {
namespace {

using systole::testing::error_of;
using testing::Cube;
using testing::cube;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Matrix;
using testing::random_like;
using testing::random_tensor;
using testing::ReferenceCell;
using testing::run_reference;
using testing::Vector;

ReferenceCell gru_cell(std::span<const Tensor> w) {
  return {.kind = "gru",
          .units = 3,
          .kernel = testing::numbers(w[0]),
          .recurrent = testing::numbers(w[1]),
          .bias = testing::numbers(w[2])};
}

void expect_rows(const Tensor& got, const Vector& expected) {
  const Vector values = testing::numbers(got);
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], 1e-5) << i;
}

// Returns one step's forward and backward outputs as `mode` merges them.
Vector merged_rows(const std::string& mode, const Vector& f, const Vector& b) {
  Vector row;
  for (size_t i = 0; i < f.size(); ++i) {
    row.push_back(mode == "sum"   ? f[i] + b[i]
                  : mode == "mul" ? f[i] * b[i]
                  : mode == "ave" ? (f[i] + b[i]) / 2
                                  : f[i]);
  }
  if (mode == "concat") row.insert(row.end(), b.begin(), b.end());
  return row;
}

TEST(WrappersTest, BidirectionalMergesBothDirections) {
  Tensor x = random_tensor({2, 4, 2}, 1);
  for (size_t i = 4; i < 8; ++i) x.data<float>()[i] = 0;  // the first row ends after two steps
  const Matrix mask = {{1, 1, 0, 0}, {1, 1, 1, 1}};
  for (const std::string mode : {"concat", "sum", "mul", "ave"}) {
    for (const bool sequences : {true, false}) {
      const KerasTensor input = Input({4, 2});
      const Bidirectional layer(GRU(3, {.return_sequences = sequences}), {.merge_mode = mode});
      const Model model(input, layer(Masking()(input)));
      layer.set_weights(random_like(layer.get_weights(), 4));
      const std::vector<Tensor> w = layer.get_weights();
      const std::span<const Tensor> all(w);
      const Cube forward = run_reference(gru_cell(all.first(3)), cube(x), mask).outputs;
      const Cube backward = run_reference(gru_cell(all.last(3)), cube(x), mask, {}, true).outputs;
      Vector expected;
      for (size_t n = 0; n < 2; ++n) {
        for (size_t t = sequences ? 0 : 3; t < 4; ++t) {
          const Vector row = merged_rows(mode, forward[n][t], backward[n][sequences ? 3 - t : 3]);
          expected.insert(expected.end(), row.begin(), row.end());
        }
      }
      expect_rows(model.predict(x), expected);
    }
  }
}

TEST(WrappersTest, BidirectionalHasKerasNamesStatesAndNoMerge) {
  const KerasTensor input = Input({4, 2});
  const Bidirectional layer(LSTM(3, {.return_state = true, .name = "lstm"}),
                            {.merge_mode = std::nullopt, .name = "bidirectional"});
  std::vector<KerasTensor> inputs = {input};
  std::vector<Tensor> arrays = {random_tensor({2, 4, 2}, 1)};
  for (uint64_t i = 0; i < 4; ++i) {
    inputs.push_back(Input({3}));
    arrays.push_back(random_tensor({2, 3}, 30 + i));
  }
  const KerasTensors states = std::vector<KerasTensor>(inputs.begin() + 1, inputs.end());
  const KerasTensors outputs = layer(input, {.initial_state = states});
  ASSERT_EQ(outputs.size(), 6U);
  EXPECT_THAT(
      layer.definition()->weight_names(),
      ElementsAre(
          "bidirectional/forward_lstm/kernel:0", "bidirectional/forward_lstm/recurrent_kernel:0",
          "bidirectional/forward_lstm/bias:0", "bidirectional/backward_lstm/kernel:0",
          "bidirectional/backward_lstm/recurrent_kernel:0", "bidirectional/backward_lstm/bias:0"));
  const Model model(inputs, outputs);
  const std::vector<Tensor> got = model.predict_all(arrays);
  EXPECT_TRUE(got[0].identical(got[2]));  // y, y_back, h, c, h_back, c_back
  EXPECT_TRUE(got[1].identical(got[4]));
  // The layers by themselves, with the wrapper's weights.
  const std::vector<Tensor> w = layer.get_weights();
  for (const bool back : {false, true}) {
    const KerasTensor x = Input({4, 2});
    const KerasTensor h = Input({3});
    const KerasTensor c = Input({3});
    const LSTM alone(3, {.go_backwards = back});
    const Model one({x, h, c}, alone(x, {.initial_state = {h, c}}));
    alone.set_weights(back ? std::vector(w.begin() + 3, w.end())
                           : std::vector(w.begin(), w.begin() + 3));
    const size_t at = back ? 3 : 1;
    EXPECT_TRUE(one.predict(std::vector<Tensor>{arrays[0], arrays[at], arrays[at + 1]})
                    .identical(got[back ? 1 : 0]));
  }
  const Model again = model_from_json(model.to_json());
  EXPECT_EQ(again.to_json(), model.to_json());
  again.set_weights(model.get_weights());
  EXPECT_TRUE(again.predict_all(arrays)[5].identical(got[5]));
}

TEST(WrappersTest, BidirectionalTakesWeightsAndRefusesOthers) {
  const std::vector<Tensor> weights =
      random_like({Tensor::zeros(DType::f32, {2, 3}), Tensor::zeros(DType::f32, {3, 3}),
                   Tensor::zeros(DType::f32, {3}), Tensor::zeros(DType::f32, {2, 3}),
                   Tensor::zeros(DType::f32, {3, 3}), Tensor::zeros(DType::f32, {3})},
                  6);
  const Sequential model(
      {Bidirectional(SimpleRNN(3), {.weights = weights, .input_shape = Shape{4, 2}})});
  for (size_t i = 0; i < 6; ++i) EXPECT_TRUE(model.get_weights()[i].identical(weights[i]));
  EXPECT_THAT(error_of([] { Bidirectional(Dense(3)); }), HasSubstr("You passed: Dense"));
  EXPECT_THAT(error_of([] { Bidirectional(LSTM(3), {.merge_mode = "add"}); }),
              HasSubstr("Invalid merge mode"));
}

TEST(WrappersTest, TimeDistributedAppliesALayerOrAModelToEachStep) {
  const Sequential inner({Dense(5, {.activation = "tanh", .input_shape = Shape{3}}), Dense(2)});
  const TimeDistributed layer(inner, {.name = "steps"});
  const KerasTensor input = Input({-1, 3});  // any number of steps
  const Model model(input, layer(input));
  const Tensor x = random_tensor({4, 6, 3}, 2);
  const Tensor expected = inner.predict(x.reshape({24, 3})).reshape({4, 6, 2});
  EXPECT_TRUE(model.predict(x).identical(expected));
  EXPECT_TRUE(model.predict(x.reshape({8, 3, 3})).identical(expected.reshape({8, 3, 2})));
  const TimeDistributed dense(Dense(4), {.name = "dense_steps"});
  EXPECT_EQ(dense(Input({6, 3})).shape(), (Shape{-1, 6, 4}));
  EXPECT_THAT(dense.definition()->weight_names(),
              ElementsAre("dense_steps/kernel:0", "dense_steps/bias:0"));
  EXPECT_THAT(error_of([&] { TimeDistributed(Dense(4))(Input({3})); }),
              HasSubstr("expected min_ndim=3, found ndim=2"));
  const Model again = model_from_json(model.to_json());
  EXPECT_EQ(again.to_json(), model.to_json());
  again.set_weights(model.get_weights());
  EXPECT_TRUE(again.predict(x).identical(expected));
}

// Words of sentences: the mask of padding reaches the inner recurrent layer, and the outer one gets
// a mask of sentences that have a word.
TEST(WrappersTest, TimeDistributedCarriesMasksInAndOut) {
  const KerasTensor ids = Input({3, 4});
  const Embedding embedding(9, 2, {.mask_zero = true, .input_length = 4});
  const LSTM words(3);
  const LSTM sentences(2);
  const KerasTensors encoded = TimeDistributed(words)(TimeDistributed(embedding)(ids));
  const Model model(ids, sentences(encoded));
  // Two sentences, the second shorter; the third is empty.
  const Tensor x = Tensor::of<float>({1, 3, 4}, {1, 2, 3, 4, 5, 6, 0, 0, 0, 0, 0, 0});
  const KerasTensor ids4 = Input({4});
  const KerasTensor ids2 = Input({2});
  const Tensor first =
      Model(ids4, words(embedding(ids4))).predict(Tensor::of<float>({1, 4}, {1, 2, 3, 4}));
  const Tensor second =
      Model(ids2, words(embedding(ids2))).predict(Tensor::of<float>({1, 2}, {5, 6}));
  Tensor both(DType::f32, {1, 2, 3});
  for (size_t i = 0; i < 3; ++i) {
    both.data<float>()[i] = first.data<float>()[i];
    both.data<float>()[3 + i] = second.data<float>()[i];
  }
  const KerasTensor steps = Input({2, 3});
  expect_rows(model.predict(x), testing::numbers(Model(steps, sentences(steps)).predict(both)));
}

TEST(WrappersTest, TrainableStaysWithTheLayerInside) {
  const TimeDistributed frozen(Dense(2, {.trainable = false}), {.input_shape = Shape{3, 4}});
  const Sequential model({frozen, LSTM(2)});
  EXPECT_EQ(frozen.definition()->trainable_weights().size(), 0U);
  EXPECT_EQ(model.definition()->trainable_weights().size(), 3U);
  const Model again = model_from_json(model.to_json());
  EXPECT_EQ(again.definition()->trainable_weights().size(), 3U);
}

TEST(WrappersTest, EveryRecurrentLayerRoundTripsThroughJson) {
  const Shape shape{3, 2};
  const std::vector<Layer> all = {
      SimpleRNN(2, {.activation = "relu", .dropout = 0.2, .input_shape = shape}),
      GRU(2, {.reset_after = true, .implementation = 2, .unroll = true, .input_shape = shape}),
      LSTM(2, {.unit_forget_bias = false, .kernel_constraint = "max_norm", .input_shape = shape}),
      CuDNNLSTM(2, {.go_backwards = true, .input_shape = shape}),
      CuDNNGRU(2, {.bias_regularizer = "l2", .input_shape = shape}),
      RNN({SimpleRNNCell(3), LSTMCell(2), GRUCell(2)}, {.input_shape = shape}),
      Bidirectional(GRU(2), {.merge_mode = "ave", .input_shape = shape}),
      Bidirectional(RNN(LSTMCell(2)), {.input_shape = shape}),
      TimeDistributed(Bidirectional(LSTM(2)), {.input_shape = Shape{4, 3, 2}})};
  for (const Layer& layer : all) {
    const Sequential model({layer});
    const Model again = model_from_json(model.to_json());
    EXPECT_EQ(again.to_json(), model.to_json());
    model.set_weights(random_like(model.get_weights(), 8));
    again.set_weights(model.get_weights());
    const bool wrapped = layer.class_name() == "TimeDistributed";
    const Tensor x = random_tensor(wrapped ? Shape{2, 4, 3, 2} : Shape{2, 3, 2}, 3);
    EXPECT_TRUE(again.predict(x).identical(model.predict(x))) << layer.class_name();
  }
}

// TensorFlow.js and later versions of Keras write other arguments besides.
TEST(WrappersTest, ConfigurationsOfOtherVersionsLoad) {
  const Layer layer = layer_from_json(Json::parse(R"({"class_name": "RNN", "config": {
      "name": "rnn", "time_major": false, "zero_output_for_mask": false, "num_constants": null,
      "cells": [{"class_name": "LSTMCell", "config": {"name": "a", "units": 3, "implementation": null,
                 "unit_forget_bias": null, "activity_regularizer": null}},
                {"class_name": "GRUCell", "config": {"name": "b", "units": 4}}]}})"));
  EXPECT_EQ(layer(Input({5, 2})).shape(), (Shape{-1, 4}));
  EXPECT_EQ(layer.weights().size(), 6U);
  EXPECT_EQ(layer.get_weights()[2].data<float>()[3], 1);  // the forget gate's bias
  EXPECT_THAT(error_of([] {
                layer_from_json(Json::parse(R"({"class_name": "LSTM", "config": {"units": 2,
                                                "time_major": true}})"));
              }),
              HasSubstr("argument 'time_major' is not known"));
}

// -- States

Sequential stateful_model(int64_t batch) {
  Sequential model(
      {GRU(3,
           {.return_sequences = true, .stateful = true, .batch_input_shape = Shape{batch, 2, 2}}),
       LSTM(2, {.return_sequences = true, .stateful = true}), Dense(1)});
  model.set_weights(random_like(model.get_weights(), 2));
  return model;
}

// Steps [begin, begin + 2) of x.
Tensor two_steps(const Tensor& x, int64_t begin) {
  Tensor part(DType::f32, {x.dim(0), 2, x.dim(2)});
  for (int64_t n = 0; n < x.dim(0); ++n) {
    for (int64_t i = 0; i < 2 * x.dim(2); ++i) {
      part.data<float>()[n * 2 * x.dim(2) + i] =
          x.data<float>()[static_cast<size_t>((n * x.dim(1) + begin) * x.dim(2) + i)];
    }
  }
  return part;
}

TEST(StatefulTest, PredictContinuesTheSequenceUntilStatesAreReset) {
  const Sequential model = stateful_model(4);
  EXPECT_EQ(model.weights().size(), 8U);  // states are no weights
  const KerasTensor input = Input({6, 2});
  Model whole(
      input,
      Dense(1)(LSTM(2, {.return_sequences = true})(GRU(3, {.return_sequences = true})(input))));
  whole.set_weights(model.get_weights());
  const Tensor x = random_tensor({4, 6, 2}, 5);
  const Tensor expected = whole.predict(x);
  for (int pass = 0; pass < 2; ++pass) {
    for (const int64_t begin : {0, 2, 4}) {
      expect_rows(model.predict(two_steps(x, begin)), testing::numbers(two_steps(expected, begin)));
    }
    model.reset_states();
  }
  // Two batches in one call: rows 4 to 7 continue rows 0 to 3.
  Tensor batches(DType::f32, {8, 2, 2});
  for (size_t i = 0; i < 32; ++i) {
    batches.data<float>()[i] = two_steps(x, i < 16 ? 0 : 2).data<float>()[i % 16];
  }
  expect_rows(model.predict(batches).slice(4, 8), testing::numbers(two_steps(expected, 2)));
  EXPECT_THAT(error_of([&] {
                model.predict(random_tensor({6, 2, 2}, 1));
              }),
              HasSubstr("can be divided by the batch size. Found: 6 samples"));
}

TEST(StatefulTest, BatchSizesHaveStatesOfTheirOwn) {
  const Sequential model = stateful_model(4);
  const Tensor x = random_tensor({4, 6, 2}, 5);
  const Tensor one = x.slice(0, 1);
  const Tensor first = model.predict(two_steps(one, 0), {.batch_size = 1});
  model.predict(two_steps(x, 2));
  const Tensor second = model.predict(two_steps(one, 2), {.batch_size = 1});
  model.reset_states();
  EXPECT_TRUE(model.predict(two_steps(one, 0), {.batch_size = 1}).identical(first));
  EXPECT_TRUE(model.predict(two_steps(one, 2), {.batch_size = 1}).identical(second));
}

TEST(StatefulTest, LayersTakeStates) {
  const SimpleRNN layer(3, {.return_state = true, .stateful = true});
  const KerasTensor input = Input({2, 2}, {.batch_size = 2});
  const Model model(input, layer(input)[1]);
  const Tensor h = random_tensor({2, 3}, 6);
  layer.reset_states({h});
  const KerasTensor given = Input({3});
  const KerasTensor free = Input({2, 2});
  const SimpleRNN plain(3);
  const Model other({free, given}, plain({free, given}));
  plain.set_weights(layer.get_weights());
  const Tensor x = random_tensor({2, 2, 2}, 7);
  EXPECT_TRUE(model.predict(x).identical(other.predict(std::vector<Tensor>{x, h})));
  EXPECT_THAT(error_of([&] { layer.reset_states({h, h}); }), HasSubstr("expects 1 states"));
  EXPECT_THAT(error_of([&] {
                layer.reset_states({random_tensor({2, 4}, 1)});
              }),
              HasSubstr("State 0 is incompatible with layer"));
}

// Training and evaluate() continue from the states and change them; validation in fit() does
// neither.
TEST(StatefulTest, TrainingAdvancesStatesAndValidationDoesNot) {
  const Tensor x = random_tensor({4, 6, 2}, 5);
  const Tensor y = random_tensor({4, 2, 1}, 6);
  std::vector<Tensor> after;
  for (const bool validate : {false, true}) {
    const Sequential model = stateful_model(4);
    model.compile({.optimizer = optimizers::SGD(0.0), .loss = "mse"});
    FitOptions options{.epochs = 2, .verbose = 0, .shuffle = false};
    if (validate) options.validation_data = Arrays{{two_steps(x, 4)}, {y}};
    const History history = model.fit(two_steps(x, 0), y, options);
    EXPECT_NE(history.history.at("loss")[0], history.history.at("loss")[1]);
    if (validate) {
      EXPECT_EQ(history.history.at("val_loss")[0], history.history.at("val_loss")[1]);
    }
    after.push_back(model.predict(two_steps(x, 2)));
    model.reset_states();
    for (int i = 0; i < 2; ++i) model.evaluate(two_steps(x, 0), y, {.verbose = 0});
    EXPECT_TRUE(model.predict(two_steps(x, 2)).identical(after.back()));
  }
  EXPECT_TRUE(after[0].identical(after[1]));
}

TEST(StatefulTest, ReplicasKeepTheStatesOfTheirRows) {
  const Tensor x = random_tensor({8, 6, 2}, 5);
  std::vector<Vector> results;
  for (const Placement& place : {Placement{}, Placement{"local:v3-8", 8}}) {
    const Sequential model = stateful_model(8);
    model.place(place);
    model.predict(two_steps(x, 0));
    results.push_back(testing::numbers(model.predict(two_steps(x, 2))));
  }
  for (size_t i = 0; i < results[0].size(); ++i) EXPECT_NEAR(results[0][i], results[1][i], 1e-5);
}

}  // namespace
}  // namespace systole::keras::layers
