// Models that share layers, nested models and optimizers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "systole/base/log.h"
#include "systole/base/testing/error_of.h"
#include "systole/graph/core/graph.h"
#include "systole/keras/keras.h"

namespace systole::keras {
namespace {

using ::systole::testing::error_of;
using ::testing::HasSubstr;

class SharedPartsTest : public ::testing::Test {
 protected:
  SharedPartsTest() : scope_(graph_) { set_random_seed(1); }
  Graph graph_;
  GraphScope scope_;
};

Tensor ones(const Shape& shape) { return Tensor::full(DType::f32, shape, 1); }

bool same(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!a[i].identical(b[i])) return false;
  }
  return true;
}

Model small_discriminator() {
  const KerasTensor input = Input({3});
  return {input, layers::Dense(1)(layers::Dense(4, "tanh")(input))};
}

// Every GAN of Keras: compile, freeze, combine, compile.
TEST_F(SharedPartsTest, LayersFrozenAfterCompileAreTrainedByTheModelOnly) {
  const Model discriminator = small_discriminator();
  discriminator.compile({.optimizer = "adam", .loss = "mse"});
  const KerasTensor noise = Input({2});
  const Model generator(noise, layers::Dense(3)(noise));
  discriminator.set_trainable(false);
  const Model combined(noise, discriminator(generator(noise)));
  combined.compile({.optimizer = "adam", .loss = "mse"});
  const auto fixed = discriminator.get_weights();
  const auto generated = generator.get_weights();
  combined.train_on_batch(ones({8, 2}), ones({8, 1}));
  EXPECT_TRUE(same(discriminator.get_weights(), fixed));
  EXPECT_FALSE(same(generator.get_weights(), generated));
  const auto trained = generator.get_weights();
  discriminator.train_on_batch(ones({8, 3}), ones({8, 1}));
  EXPECT_FALSE(same(discriminator.get_weights(), fixed));
  EXPECT_TRUE(same(generator.get_weights(), trained));
}

TEST_F(SharedPartsTest, BatchNormalizationFrozenAfterCompileStillCountsBatches) {
  const Sequential model(
      {layers::BatchNormalization({.momentum = 0.5, .input_shape = {2}, .name = "normalize"}),
       layers::Dense(1)});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  model.set_trainable(false);
  model.train_on_batch(ones({4, 2}), ones({4, 1}));
  const Layer layer = model.get_layer("normalize");
  layer.set_trainable(true);
  EXPECT_FLOAT_EQ(layer.get_weights()[2].data<float>()[0], 0.5F);  // the moving mean
}

TEST_F(SharedPartsTest, AModelOfFrozenLayersSaysSo) {
  const Model model = small_discriminator();
  model.set_trainable(false);
  model.compile({.optimizer = "sgd", .loss = "mse"});
  EXPECT_THAT(error_of([&] {
                model.train_on_batch(ones({2, 3}), ones({2, 1}));
              }),
              HasSubstr("all of its layers were frozen (trainable = false) when it was compiled"));
}

// One optimizer object for all models: slots are apart, iterations and the rate are shared.
TEST_F(SharedPartsTest, ModelsThatShareAnOptimizerHaveTheirOwnSlots) {
  const auto make = [](const OptimizerSpec& optimizer) {
    clear_session();
    set_random_seed(3);
    const Sequential model(
        {layers::Dense(4, {.activation = "tanh", .input_shape = {3}}), layers::Dense(1)});
    model.compile({.optimizer = optimizer, .loss = "mse"});
    return model;
  };
  const Tensor x({2, 3}, {0.1F, 0.9F, -0.4F, 0.3F, -0.2F, 0.8F});
  const Tensor y({2, 1}, {1.0F, -1.0F});
  const auto shared = optimizers::SGD(0.1, {.momentum = 0.9});
  const Sequential a = make(shared);
  const Sequential b = make(shared);
  const Sequential alone = make(optimizers::SGD(0.1, {.momentum = 0.9}));
  for (int i = 0; i < 3; ++i) a.train_on_batch(x, Tensor({2, 1}, {9.0F, -7.0F}));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(b.train_on_batch(x, y)[0], alone.train_on_batch(x, y)[0]);
  }
  EXPECT_EQ(shared->iterations()->value().item<int64_t>(), 6);
  backend::set_value(shared->lr(), 0.0F);
  const auto before = b.get_weights();
  b.compile({.optimizer = shared, .loss = "mse"});  // continues with the slots of b
  EXPECT_EQ(b.optimizer()->weights().size(), 5U);
  b.fit(x, y, {.verbose = 0});
  EXPECT_FALSE(same(before, b.get_weights()));  // by the momentum that it kept
}

TEST_F(SharedPartsTest, ModelsOfOtherShapesShareAnyOptimizer) {
  for (const char* name : {"sgd", "rmsprop", "adagrad", "adadelta", "adam", "adamax", "nadam"}) {
    const OptimizerSpec shared(name);
    for (const int64_t units : {2, 3}) {
      const Sequential model({layers::Dense(units, {.input_shape = {3}})});
      model.compile({.optimizer = shared, .loss = "mse"});
      model.train_on_batch(ones({2, 3}), ones({2, units}));
    }
    EXPECT_EQ(shared->iterations()->value().item<int64_t>(), 2) << name;
  }
}

const char* const kSiamese = R"({"class_name": "Model", "config": {"name": "m", "layers": [
  {"name": "a", "class_name": "InputLayer", "inbound_nodes": [],
   "config": {"batch_input_shape": [null, 2], "dtype": "float32", "name": "a"}},
  {"name": "b", "class_name": "InputLayer", "inbound_nodes": [],
   "config": {"batch_input_shape": [null, 2], "dtype": "float32", "name": "b"}},
  {"name": "base", "class_name": "Sequential", "config": {"name": "base", "layers": [
    {"class_name": "Dense", "config": {"units": 1, "name": "d", "batch_input_shape": [null, 2]}}]},
   "inbound_nodes": [[["a", 0, 0, {}]], [["b", 0, 0, {}]]]},
  {"name": "sub", "class_name": "Subtract", "config": {"name": "sub"},
   "inbound_nodes": [[["base", FIRST, 0, {}], ["base", SECOND, 0, {}]]]}],
  "input_layers": [["a", 0, 0], ["b", 0, 0]], "output_layers": [["sub", 0, 0]]},
  "keras_version": "2.2.4", "backend": "tensorflow"})";

std::string siamese(const std::string& first, const std::string& second) {
  std::string text = kSiamese;
  text.replace(text.find("FIRST"), 5, first);
  return text.replace(text.find("SECOND"), 6, second);
}

// Keras numbers the calls of nested models from 1; older files of this library from 0.
TEST_F(SharedPartsTest, CallsOfNestedModelsAreNumberedAsInKeras) {
  const std::vector<Tensor> x = {Tensor({1, 2}, {3.0F, 5.0F}), Tensor({1, 2}, {1.0F, 1.0F})};
  for (const auto& [first, second] : {std::pair("1", "2"), std::pair("0", "1")}) {
    const Model model = model_from_json(siamese(first, second));
    model.set_weights({Tensor({2, 1}, {1.0F, 10.0F}), Tensor({1}, {7.0F})});
    EXPECT_EQ(model.predict(x).as_double(0), 2 + 40);
    const Json again = Json::parse(model.to_json());
    EXPECT_EQ(again.at("config").at("layers").at(3).at("inbound_nodes"),
              Json::parse(R"([[["base", 1, 0, {}], ["base", 2, 0, {}]]])"));
    std::string text;
    model.summary([&](const std::string& line) { text += line + "\n"; });
    EXPECT_THAT(text, HasSubstr("base[1][0]"));
    EXPECT_THAT(text, HasSubstr("base[2][0]"));
    EXPECT_EQ(models::clone_model(model).get_layer("base").get_output_at(2).shape(),
              (Shape{-1, 1}));
  }
  EXPECT_THAT(error_of([] { model_from_json(siamese("1", "3")); }),
              HasSubstr("layer 'sub' has an inbound node that no layer makes"));
}

TEST_F(SharedPartsTest, ANestedModelMayBeTheOutput) {
  const KerasTensor input = Input({3});
  const Sequential inner({layers::Dense(2, {.input_shape = {3}})});
  const Model model(input, inner(input));
  const Json config = Json::parse(model.to_json()).at("config");
  EXPECT_EQ(config.at("output_layers"), Json::parse(R"([["sequential", 1, 0]])"));
  model.save("mem://nested_output.h5");
  EXPECT_TRUE(load_model("mem://nested_output.h5")
                  .predict(ones({2, 3}))
                  .identical(model.predict(ones({2, 3}))));
  EXPECT_EQ(inner.get_output_at(0).only(), inner.output().only());
}

// The shape came from the data, and is in the file.
TEST_F(SharedPartsTest, ModelsThatTheDataBuiltAreSavedWithTheirShape) {
  const Sequential model({layers::Dense(4), layers::Dense(1)});
  EXPECT_FALSE(Json::parse(model.to_json()).at("config").contains("build_input_shape"));
  model.compile({.optimizer = "adam", .loss = "mse"});
  const Tensor x({2, 3}, {1.0F, 2.0F, 3.0F, 4.0F, 5.0F, 6.0F});
  model.fit(x, ones({2, 1}), {.verbose = 0});
  model.save("mem://built_by_data.h5");
  const Model again = load_model("mem://built_by_data.h5");
  EXPECT_TRUE(again.predict(x).identical(model.predict(x)));
  EXPECT_EQ(again.inputs().only().dtype(), model.inputs().only().dtype());
  const Json config = Json::parse(model.to_json()).at("config");
  EXPECT_EQ(config.at("build_input_shape"), Json::parse("[null, 3]"));
  EXPECT_EQ(config.at("layers").at(0).at("config").at("batch_input_shape"),
            Json::parse("[null, 3]"));
  EXPECT_EQ(models::clone_model(model).count_params(), model.count_params());
}

// Trainable weights come first in files, so names tell which is whose.
TEST_F(SharedPartsTest, WeightsOfFrozenLayersInNestedModelsFindTheirLayers) {
  const auto make = [](bool freeze) {
    clear_session();
    const Sequential base(
        {layers::Dense(3, {.activation = "tanh", .input_shape = {3}, .name = "first"}),
         layers::Dense(3, {.activation = "tanh", .name = "second"})},
        {.name = "base"});
    const KerasTensor input = Input({3});
    Model model(input, layers::Dense(1, {.name = "head"})(base(input)));
    if (freeze) base.get_layer("first").set_trainable(false);
    return model;
  };
  const Tensor x({1, 3}, {0.5F, -1.0F, 2.0F});
  for (const bool frozen : {true, false}) {
    const Model saved = make(frozen);
    saved.save_weights("mem://nested_frozen.h5");
    const Model loaded = make(!frozen);
    loaded.load_weights("mem://nested_frozen.h5");
    EXPECT_TRUE(loaded.predict(x).identical(saved.predict(x)));
  }
}

TEST_F(SharedPartsTest, SummaryTellsTheShapeOfSharedLayersWithOneShape) {
  const KerasTensor a = Input({5, 4});
  const KerasTensor b = Input({5, 4});
  const KerasTensor c = Input({7, 4});
  const layers::LSTM same_shape(6);
  const layers::Dense several(2);
  const Model model({a, b, c}, {same_shape(a), same_shape(b), several(a), several(c)});
  std::vector<std::string> lines;
  model.summary([&](const std::string& line) { lines.push_back(line); });
  EXPECT_THAT(lines, ::testing::Contains(HasSubstr("lstm (LSTM)                     (None, 6) ")));
  EXPECT_THAT(lines, ::testing::Contains(HasSubstr("dense (Dense)                   multiple ")));
}

}  // namespace
}  // namespace systole::keras
