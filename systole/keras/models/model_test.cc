#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "systole/base/log.h"
#include "systole/base/random.h"
#include "systole/base/testing/error_of.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/graph.h"
#include "systole/keras/engine/layer_class.h"
#include "systole/keras/keras.h"

namespace systole::keras {
namespace {

class ModelTest : public ::testing::Test {
 protected:
  ModelTest() : scope_(graph_) { set_random_seed(1); }
  Graph graph_;
  GraphScope scope_;
};

Tensor normal(const Shape& shape, uint64_t seed) {
  Tensor t(DType::f32, shape);
  RandomStream stream(seed);
  for (float& x : t.data<float>()) x = static_cast<float>(stream.next_normal());
  return t;
}

TEST_F(ModelTest, SummaryIsKerasTableOfTheImdbModel) {
  Sequential model;
  model.add(layers::Embedding(15000, 32, {.input_length = 250}));
  model.add(layers::LSTM(100));
  model.add(layers::Dense(1, {.activation = "sigmoid"}));
  std::string text;
  model.summary([&](const std::string& line) { text += line + "\n"; });
  EXPECT_EQ(text,
            "_________________________________________________________________\n"
            "Layer (type)                 Output Shape              Param #   \n"
            "=================================================================\n"
            "embedding (Embedding)        (None, 250, 32)           480000    \n"
            "_________________________________________________________________\n"
            "lstm (LSTM)                  (None, 100)               53200     \n"
            "_________________________________________________________________\n"
            "dense (Dense)                (None, 1)                 101       \n"
            "=================================================================\n"
            "Total params: 533,301\n"
            "Trainable params: 533,301\n"
            "Non-trainable params: 0\n"
            "_________________________________________________________________\n");
}

TEST_F(ModelTest, FitLearnsALinearFunction) {
  const Tensor x = normal({256, 3}, 1);
  Tensor y(DType::f32, {256, 1});
  for (int64_t i = 0; i < 256; ++i) {
    const auto row = x.data<float>().subspan(static_cast<size_t>(3 * i), 3);
    y.data<float>()[i] = 2 * row[0] - row[1] + 0.5F * row[2] + 1;
  }
  Sequential model({layers::Dense(1, {.input_shape = Shape{3}})});
  model.compile({.optimizer = optimizers::SGD(0.1), .loss = "mse", .metrics = {"mae"}});
  const History history = model.fit(x, y, {.batch_size = 50, .epochs = 20, .verbose = 0});
  EXPECT_EQ(history.epoch.size(), 20U);
  EXPECT_LT(history.history.at("loss").back(), 1e-4);
  const std::vector<Tensor> weights = model.get_weights();
  EXPECT_NEAR(weights[0].data<float>()[0], 2, 0.02);
  EXPECT_NEAR(weights[1].data<float>()[0], 1, 0.02);
  const Scores scores = model.evaluate(x, y, {.verbose = 0});
  EXPECT_EQ(scores.names, (std::vector<std::string>{"loss", "mean_absolute_error"}));
  EXPECT_LT(scores["loss"], 1e-4);
  EXPECT_EQ(model.predict(x.slice(0, 6)).shape(), (Shape{6, 1}));
}

// One LSTM step in f64, by the formula of facts: gates i, f, c, o.
TEST_F(ModelTest, LstmComputesItsFormula) {
  constexpr int kUnits = 4;
  constexpr int kDepth = 3;
  Sequential model({layers::LSTM(kUnits, {.input_shape = Shape{2, kDepth}})});
  const Tensor x = normal({5, 2, kDepth}, 2);
  const Tensor got = model.predict(x);
  const std::vector<Tensor> w = model.get_weights();
  ASSERT_EQ(w.size(), 3U);
  const auto sigma = [](double v) { return std::min(std::max(0.2 * v + 0.5, 0.0), 1.0); };
  const auto at = [](int i) { return static_cast<size_t>(i); };
  for (int n = 0; n < 5; ++n) {
    std::vector<double> h(kUnits);
    std::vector<double> c(kUnits);
    for (int t = 0; t < 2; ++t) {
      std::vector<double> z(4 * kUnits);
      for (int j = 0; j < 4 * kUnits; ++j) {
        double sum = w[2].data<float>()[j];
        for (int k = 0; k < kDepth; ++k) {
          sum += static_cast<double>(x.data<float>()[at((n * 2 + t) * kDepth + k)]) *
                 w[0].data<float>()[at(k * 4 * kUnits + j)];
        }
        for (int k = 0; k < kUnits; ++k) {
          sum += h[k] * w[1].data<float>()[at(k * 4 * kUnits + j)];
        }
        z[j] = sum;
      }
      for (size_t u = 0; u < kUnits; ++u) {
        c[u] = sigma(z[kUnits + u]) * c[u] + sigma(z[u]) * std::tanh(z[2 * kUnits + u]);
        h[u] = sigma(z[3 * kUnits + u]) * std::tanh(c[u]);
      }
    }
    for (size_t u = 0; u < kUnits; ++u) {
      EXPECT_NEAR(got.data<float>()[static_cast<size_t>(n) * kUnits + u], h[u], 1e-5);
    }
  }
}

TEST_F(ModelTest, FunctionalModelWithSharedLayer) {
  const KerasTensor a = Input({4});
  const KerasTensor b = Input({4});
  const layers::Dense shared(3);
  const Model model({a, b}, {shared(a), shared(b)});
  EXPECT_EQ(model.input_names(), (std::vector<std::string>{"input_1", "input_2"}));
  EXPECT_EQ(model.weights().size(), 2U);
  const Tensor x = normal({2, 4}, 3);
  const std::vector<Tensor> outputs = model.predict_all(std::vector<Tensor>{x, x});
  EXPECT_TRUE(outputs[0].identical(outputs[1]));
}

TEST_F(ModelTest, EightReplicasTrainAsOne) {
  const Tensor x = normal({100, 6}, 4);
  Tensor y(DType::f32, {100, 1});
  for (int64_t i = 0; i < 100; ++i) {
    y.data<float>()[i] = x.data<float>()[6 * i] > 0 ? 1.0F : 0.0F;
  }
  std::vector<std::vector<double>> losses;
  for (const Placement& place : {Placement{}, Placement{"local:v3-8", 8}}) {
    Graph graph;
    const GraphScope scope(graph);
    set_random_seed(7);
    Sequential model({layers::Dense(5, {.activation = "tanh", .input_shape = Shape{6}}),
                      layers::Dense(1, {.activation = "sigmoid"})});
    model.place(place);
    model.compile({.optimizer = "adam", .loss = "binary_crossentropy", .metrics = {"accuracy"}});
    const History history = model.fit(x, y, {.batch_size = 64, .epochs = 3, .verbose = 0});
    losses.push_back(history.history.at("loss"));
    EXPECT_EQ(model.predict(x.slice(0, 6)).shape(), (Shape{6, 1}));
  }
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(losses[0][i], losses[1][i], 1e-5);
}

// The layer of docs/keras.md.
class Scale : public LayerDefinition {
 public:
  std::string class_name() const override { return "Scale"; }
  void build(const std::vector<Shape>& inputs) override {
    scale_ = add_weight("scale", {inputs[0][1]}, {.initializer = ones_initializer()});
  }
  std::vector<Output> call(CallContext& context, const std::vector<Output>& inputs) override {
    return {inputs[0] * context.value(scale_)};
  }

  Json config() const override { return common_config(*this); }

 private:
  WeightPtr scale_;
};

TEST_F(ModelTest, LayersTellTheirTensors) {
  const Sequential model({layers::Dense(4, {.activation = "tanh", .input_shape = Shape{3}}),
                          layers::Dense(2, {.name = "features"}), layers::Dense(1)});
  const Model features(model.input(), model.get_layer("features").output());
  const Tensor x = normal({5, 3}, 6);
  EXPECT_EQ(features.predict(x).shape(), Shape({5, 2}));
  EXPECT_EQ(model.get_layer("features").input().shape(), Shape({-1, 4}));
  EXPECT_THAT(systole::testing::error_of([] { layers::Dense(3, {.name = "d"}).output(); }),
              ::testing::HasSubstr("Layer d has no inbound nodes"));
  const layers::Dense shared(2, {.name = "s"});
  const KerasTensor a = Input({3});
  const KerasTensor b = Input({3});
  const KerasTensors first = shared(a);
  const KerasTensors second = shared(b);
  EXPECT_THAT(systole::testing::error_of([&] { shared.output(); }),
              ::testing::HasSubstr("Layer s has multiple inbound nodes"));
  EXPECT_EQ(shared.get_output_at(1).only(), second.only());
  EXPECT_EQ(shared.get_input_at(0).only(), a);
  EXPECT_THAT(systole::testing::error_of([&] { shared.get_output_at(2); }),
              ::testing::HasSubstr("node_index, got 2, expected one of its 2 calls"));
}

// A model of a program's class: two layers of its own and a call().
class TwoTowers : public ModelDefinition {
 public:
  std::string class_name() const override { return "TwoTowers"; }
  std::vector<Layer> layers() const override { return {left_, right_, head_}; }
  std::vector<Output> call(CallContext& context, const std::vector<Output>& inputs) override {
    const Output a = left_.definition()->apply(context, inputs)[0];
    const Output b = right_.definition()->apply(context, inputs)[0];
    return head_.definition()->apply(context, {a * b});
  }

 private:
  const layers::Dense left_{4, {.activation = "tanh"}};
  const layers::Dense right_{4};
  const layers::Dense head_{1};
};

TEST_F(ModelTest, ModelsOfAProgramTrainSaveWeightsAndRefuseToBeSaved) {
  const Model model(std::make_shared<TwoTowers>());
  const Tensor x = normal({64, 3}, 8);
  Tensor y(DType::f32, {64, 1});
  for (size_t i = 0; i < 64; ++i) y.data<float>()[i] = x.data<float>()[3 * i];
  model.compile({.optimizer = optimizers::Adam(0.05), .loss = "mse"});
  const History history = model.fit(x, y, {.epochs = 30, .verbose = 0});
  EXPECT_LT(history.history.at("loss").back(), history.history.at("loss").front() / 10);
  EXPECT_EQ(model.weights().size(), 6U);
  model.save_weights("mem://two_towers.h5");
  const Model again(std::make_shared<TwoTowers>());
  again.predict(x);  // builds the weights
  again.load_weights("mem://two_towers.h5");
  EXPECT_TRUE(again.predict(x).identical(model.predict(x)));
  EXPECT_THAT(systole::testing::error_of([&] { model.save("mem://two_towers_model.h5"); }),
              ::testing::HasSubstr("Currently `save` requires model to be a graph network"));
}

// Arguments that Keras's layers take besides their own.
TEST_F(ModelTest, LayersTakeShapesAndWeights) {
  const Tensor table = normal({5, 2}, 4);
  const Sequential model(
      {layers::Embedding(5, 2, {.input_length = 3, .weights = {table}, .trainable = false})});
  EXPECT_TRUE(model.get_weights()[0].identical(table));
  EXPECT_TRUE(model.model()->trainable_weights().empty());
  const Sequential fixed({layers::Dense(2, {.batch_input_shape = Shape{4, 3}})});
  EXPECT_EQ(fixed.inputs().shape(), Shape({4, 3}));
  const Sequential dropped({layers::Dropout(0.5, {.batch_input_shape = Shape{4, 3}})});
  EXPECT_EQ(dropped.outputs().shape(), Shape({4, 3}));
  EXPECT_THAT(
      systole::testing::error_of(
          [&] { Sequential({layers::Dense(2, {.input_shape = Shape{3}, .weights = {table}})}); }),
      ::testing::HasSubstr("with a weight list of length 1, but the layer was expecting 2"));
}

TEST_F(ModelTest, LayersOfAProgramTrain) {
  const KerasTensor input = Input({3});
  const Layer scale(std::make_shared<Scale>());
  EXPECT_EQ(scale.name(), "scale");
  EXPECT_EQ(Layer(std::make_shared<Scale>()).name(), "scale_1");
  const Model model(input, scale(input));
  const Tensor x = normal({64, 3}, 5);
  EXPECT_TRUE(model.predict(x).identical(x));
  Tensor y(DType::f32, {64, 3});
  for (size_t i = 0; i < 192; ++i) {
    y.data<float>()[i] = x.data<float>()[i] * static_cast<float>(i % 3);
  }
  model.compile({.optimizer = optimizers::SGD(0.5), .loss = "mse"});
  model.fit(x, y, {.epochs = 60, .verbose = 0, .validation_data = Arrays{{x}, {y}}});
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(model.get_weights()[0].data<float>()[i], static_cast<float>(i), 0.01);
  }
  static const bool registered = [] {
    register_layer_class({.name = "Scale", .from_config = [](const Json& given) {
                            Json config = given;
                            const CommonArguments common = take_common_arguments(config);
                            auto layer = std::make_shared<Scale>();
                            apply_common(*layer, common);
                            return layer;
                          }});
    return true;
  }();
  EXPECT_TRUE(registered);
  model.save("mem://layers_of_a_program.h5");
  const Model again = load_model("mem://layers_of_a_program.h5");
  EXPECT_EQ(again.layers()[1].name(), "scale");
  EXPECT_TRUE(again.predict(x).identical(model.predict(x)));
}

// A subclass that gives all its inputs to a layer that takes one.
TEST_F(ModelTest, ModelsOfAProgramRefuseInputsThatTheyWouldIgnore) {
  const Model model(std::make_shared<TwoTowers>());
  const Tensor x = normal({4, 3}, 8);
  EXPECT_THAT(systole::testing::error_of([&] {
                model.predict(std::vector<Tensor>{x, x});
              }),
              ::testing::HasSubstr("expects 1 inputs, but it received 2 input tensors."));
}

TEST_F(ModelTest, TellsTheNamesOfMetricsBeforeTheFirstStep) {
  const KerasTensor input = Input({-1, 3});
  const KerasTensors x = layers::LSTM(4)(input);
  const Model model(input, {layers::Dense(1, {.name = "a"})(x),
                            layers::Dense(2, {.activation = "softmax", .name = "b"})(x)});
  model.compile({.optimizer = "sgd",
                 .loss = std::vector<LossSpec>{"mse", "sparse_categorical_crossentropy"},
                 .metrics = {"accuracy"}});
  const std::vector<std::string> names = model.metrics_names();
  EXPECT_EQ(names, (std::vector<std::string>{"loss", "a_loss", "b_loss", "a_acc", "b_acc"}));
  model.test_on_batch(normal({2, 5, 3}, 1),
                      std::vector<Tensor>{normal({2, 1}, 2), Tensor::zeros(DType::f32, {2, 1})});
  EXPECT_EQ(model.metrics_names(), names);
}

TEST_F(ModelTest, WarnsOfTrainableThatWasSetAfterCompile) {
  const Sequential model({layers::Dense(2, {.input_shape = Shape{3}}), layers::Dense(1)});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const Tensor x = normal({8, 3}, 1);
  const Tensor y = normal({8, 1}, 2);
  const LogCapture log;
  const auto warnings = [&] {
    return std::ranges::count_if(log.messages(), [](const std::string& message) {
      return message.find("Discrepancy between trainable weights and collected") != message.npos;
    });
  };
  model.train_on_batch(x, y);
  model.layers()[0].set_trainable(false);
  EXPECT_EQ(warnings(), 0);
  model.train_on_batch(x, y);
  EXPECT_EQ(warnings(), 1);
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const Tensor before = model.get_weights()[2].clone();  // weights that do not train come last
  model.train_on_batch(x, y);
  EXPECT_TRUE(model.get_weights()[2].identical(before));
  EXPECT_EQ(warnings(), 1);
}

TEST_F(ModelTest, SummaryOfAModelWithoutShapesSaysSo) {
  std::string text;
  Sequential({layers::Dense(2)}).summary([&](const std::string& line) { text += line; });
  EXPECT_THAT(text, ::testing::HasSubstr("Not built yet: give the first layer an input_shape"));
}

TEST_F(ModelTest, ErrorsNameWhatIsWrong) {
  const Scores scores{.names = {"loss", "acc"}, .values = {1, 2}};
  EXPECT_THAT(systole::testing::error_of([&] { static_cast<void>(scores["accuracy"]); }),
              ::testing::HasSubstr("no score 'accuracy', expected one of loss, acc"));
  Sequential model({layers::Dense(2, {.input_shape = Shape{4}})});
  EXPECT_THAT(systole::testing::error_of([&] {
                model.fit(normal({3, 4}, 1), normal({3, 2}, 1));
              }),
              ::testing::HasSubstr("You must compile your model before using it."));
  model.compile({.optimizer = "sgd", .loss = "mse"});
  EXPECT_THAT(
      systole::testing::error_of([&] {
        model.fit(normal({3, 5}, 1), normal({3, 2}, 1));
      }),
      ::testing::HasSubstr("expected dense_input to have shape (4,) but got array with shape "
                           "(5,)"));
  EXPECT_THAT(systole::testing::error_of([&] {
                model.fit(normal({3, 4}, 1), normal({2, 2}, 1));
              }),
              ::testing::HasSubstr("Found 3 input samples and 2 target samples."));
  EXPECT_THAT(systole::testing::error_of([] { layers::Dense(2, {.activation = "rellu"}); }),
              ::testing::HasSubstr("Unknown activation function:rellu, did you mean 'relu'?"));
}

}  // namespace
}  // namespace systole::keras
