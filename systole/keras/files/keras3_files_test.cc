// Archives and weights in the layout of Keras 3, and configurations of TensorFlow 2 and Keras 3.
// Files that Keras itself wrote: tests/clients.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "systole/base/testing/error_of.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/graph/core/graph.h"
#include "systole/io/archives/archive_reader.h"
#include "systole/io/archives/zip_writer.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/io/hdf5/hdf5_reader.h"
#include "systole/keras/files/saving.h"
#include "systole/keras/keras.h"
#include "systole/keras/models/config_upgrade.h"
#include "systole/keras/models/serialization.h"

namespace systole::keras {
namespace {

using ::systole::testing::error_of;
using ::systole::testing::TempFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Keras3FilesTest : public ::testing::Test {
 protected:
  Keras3FilesTest() : scope_(graph_) { set_random_seed(1); }
  Graph graph_;
  GraphScope scope_;
  TempFolder folder_;
};

Tensor ramp(const Shape& shape) {
  Tensor x(DType::f32, shape);
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    x.data<float>()[i] = static_cast<float>(i % 7) / 4 - 0.5F;
  }
  return x;
}

// Nested models, one of them called twice, a recurrent layer with states, and two outputs.
Model varied_model() {
  const KerasTensor sequence = Input({5, 3}, {.name = "sequence"});
  const KerasTensor state = Input({4}, {.name = "state"});
  const KerasTensors h =
      layers::Bidirectional(layers::GRU(2, {.return_sequences = true}))(sequence);
  const KerasTensors g = layers::GRU(4, {.reset_after = true})(h, {.initial_state = state});
  const Sequential inner(
      {layers::Dense(4, {.input_shape = Shape{4}}), layers::BatchNormalization()},
      {.name = "inner"});
  const KerasTensor base_input = Input({4});
  const Model base(base_input, layers::Dense(4, {.activation = "gelu"})(base_input),
                   {.name = "base"});
  const KerasTensors sum = layers::add({inner(g), inner(state)});
  return {{sequence, state}, {base(sum), layers::Dense(1, {.name = "out"})(sum)}};
}

void expect_same_predictions(const Model& a, const Model& b, const std::vector<Tensor>& x) {
  const std::vector<Tensor> first = a.predict_all(x);
  const std::vector<Tensor> second = b.predict_all(x);
  ASSERT_EQ(first.size(), second.size());
  for (size_t i = 0; i < first.size(); ++i) EXPECT_TRUE(first[i].identical(second[i])) << i;
}

// Compares losses of `model`, not compiled yet, after two steps and a third one behind the file.
void expect_archive_keeps_training(const TempFolder& folder, const Model& model,
                                   const CompileOptions& options, const std::vector<Tensor>& x,
                                   const std::vector<Tensor>& y) {
  model.compile(options);
  for (int i = 0; i < 2; ++i) model.train_on_batch(x, y);
  model.save(folder / "model.keras");
  const Model loaded = load_model(folder / "model.keras");
  expect_same_predictions(loaded, model, x);
  model.train_on_batch(x, y);
  loaded.train_on_batch(x, y);
  const std::vector<Tensor> a = model.get_weights();
  const std::vector<Tensor> b = loaded.get_weights();
  for (size_t i = 0; i < a.size(); ++i) {
    for (int64_t k = 0; k < a[i].num_elements(); ++k) {
      EXPECT_NEAR(a[i].as_double(k), b[i].as_double(k), 1e-6) << i;
    }
  }
}

TEST_F(Keras3FilesTest, ArchivesKeepModelAndTraining) {
  expect_archive_keeps_training(
      folder_, varied_model(),
      {.optimizer = "adam", .loss = {"mse", "huber"}, .loss_weights = {1.0, 0.5}},
      {ramp({4, 5, 3}), ramp({4, 4})}, {ramp({4, 4}), ramp({4, 1})});
}

TEST_F(Keras3FilesTest, ArchivesKeepOptimizers) {
  for (const char* name : {"sgd", "rmsprop", "adagrad", "adadelta", "adamax", "nadam"}) {
    SCOPED_TRACE(name);
    const Sequential model({layers::Dense(1, {.input_shape = Shape{4}})});
    expect_archive_keeps_training(folder_, model, {.optimizer = name, .loss = "mse"},
                                  {ramp({4, 4})}, {ramp({4, 1})});
  }
}

// Keras's own archives have no words of ours in their metadata.
TEST_F(Keras3FilesTest, ArchivesOfKerasAreCompiled) {
  const Sequential model({layers::Dense(1, {.input_shape = Shape{4}})});
  model.compile({.optimizer = "adam", .loss = "huber"});
  model.train_on_batch({ramp({4, 4})}, {ramp({4, 1})});
  model.save(folder_ / "ours.keras");
  const std::string path = folder_ / "keras.keras";
  ArchiveReader ours(default_file_system(), folder_ / "ours.keras");
  ZipWriter written(path);
  while (ours.next()) {
    const std::string text = ours.read();
    written.add(ours.name(),
                ours.name() == "metadata.json" ? R"({"keras_version": "3.15.1"})" : text);
  }
  std::ofstream(path, std::ios::binary) << written.finish();
  const Model loaded = load_model(path);
  for (int i = 0; i < 2; ++i) {
    const double a = model.train_on_batch({ramp({4, 4})}, {ramp({4, 1})})["loss"];
    const double b = loaded.train_on_batch({ramp({4, 4})}, {ramp({4, 1})})["loss"];
    EXPECT_NEAR(a, b, 1e-6);
  }
}

TEST_F(Keras3FilesTest, ArchivesAreZips) {
  const Model model = varied_model();
  model.save(folder_ / "model.keras");
  ArchiveReader archive(default_file_system(), folder_ / "model.keras");
  std::vector<std::string> names;
  Json config;
  while (archive.next()) {
    names.push_back(archive.name());
    if (archive.name() == "config.json") config = Json::parse(archive.read());
  }
  EXPECT_THAT(names, ElementsAre("metadata.json", "config.json", "model.weights.h5"));
  EXPECT_EQ(config["module"], "keras");
  EXPECT_FALSE(config.contains("compile_config"));
  for (const Json& layer : config["config"]["layers"]) {
    EXPECT_TRUE(layer.contains("module")) << layer.dump();
    if (layer["class_name"] != "Bidirectional") continue;
    EXPECT_EQ(layer["config"]["layer"]["module"], "keras.layers");
  }
  // The first call of a functional model is call 1 among outputs and call 0 elsewhere.
  EXPECT_EQ(config["config"]["output_layers"][0], Json::array({"base", 1, 0}));
  EXPECT_EQ(config["config"]["layers"].back()["class_name"], "Dense");
  const Model other = varied_model();
  const LoadReport report = other.load_weights(folder_ / "model.keras");
  EXPECT_TRUE(report.missing.empty());
  expect_same_predictions(other, model, {ramp({4, 5, 3}), ramp({4, 4})});
}

TEST_F(Keras3FilesTest, WeightsHaveKeras3Layout) {
  const Model model = varied_model();
  const std::string path = folder_ / "a.weights.h5";
  model.save_weights(path);
  const Hdf5Reader file(default_file_system(), path);
  EXPECT_THAT(file.children(""), ElementsAre("layers", "vars"));
  EXPECT_THAT(file.children("layers/gru/cell/vars"), ElementsAre("0", "1", "2"));
  EXPECT_TRUE(file.contains("layers/bidirectional/backward_layer/cell/vars/0"));
  EXPECT_TRUE(file.contains("layers/sequential/layers/batch_normalization/vars/3"));
  EXPECT_TRUE(file.contains("layers/functional/layers/dense/vars/0"));
  EXPECT_EQ(file.string("layers/dense/vars", "name"), "out");
  const Model other = varied_model();
  other.load_weights(path);
  expect_same_predictions(other, model, {ramp({4, 5, 3}), ramp({4, 4})});
  const Sequential small({layers::Dense(1, {.input_shape = Shape{3}})});
  const Tensor before = small.get_weights()[0];
  EXPECT_THAT(error_of([&] { small.load_weights(path); }),
              HasSubstr("weight 'kernel', got f32[4,1], expected f32[3,1]"));
  EXPECT_TRUE(small.get_weights()[0].identical(before));
  EXPECT_THAT(error_of([&] { other.load_weights(path, {.by_name = true}); }),
              HasSubstr("whose weights have no names"));
}

TEST_F(Keras3FilesTest, DamagedArchivesAreRefused) {
  const Model model = varied_model();
  model.save("mem://keras3/model.keras");
  FileSystem& files = default_file_system();
  const std::string bytes = read_file(files, "mem://keras3/model.keras");
  write_file_atomically(files, "mem://keras3/half.keras", bytes.substr(0, bytes.size() / 2));
  EXPECT_THAT(error_of([] { load_model("mem://keras3/half.keras"); }),
              HasSubstr("mem://keras3/half.keras"));
}

// A functional model as Keras 3 writes it: calls as objects, a mask made by an op, a model whose
// calls are numbered from 0, and both layers of a Bidirectional.
Json keras3_call(const char* layer, Json kwargs = Json::object()) {
  const Json tensor = {
      {"class_name", "__keras_tensor__"},
      {"config", {{"dtype", "float32"}, {"keras_history", Json::array({layer, 0, 0})}}}};
  if (kwargs.contains("mask") && kwargs["mask"].is_string()) {
    Json mask = tensor;
    mask["config"]["keras_history"][0] = kwargs["mask"];
    kwargs["mask"] = std::move(mask);
  }
  return Json::array({Json{{"args", Json::array({tensor})}, {"kwargs", std::move(kwargs)}}});
}

Json keras3_layer(const char* module, const char* class_name, Json config, Json nodes) {
  const Json name = config["name"];
  return {{"module", module},
          {"class_name", class_name},
          {"config", std::move(config)},
          {"registered_name", nullptr},
          {"name", name},
          {"inbound_nodes", std::move(nodes)}};
}

Json keras3_input(const char* name, int size) {
  return keras3_layer("keras.layers", "InputLayer",
                      {{"name", name}, {"batch_shape", Json::array({nullptr, size})}},
                      Json::array());
}

Json keras3_lstm(const char* name, int units, bool backwards) {
  return {{"module", "keras.layers"},
          {"class_name", "LSTM"},
          {"config",
           {{"name", name},
            {"units", units},
            {"go_backwards", backwards},
            {"zero_output_for_mask", true},
            {"seed", nullptr}}},
          {"shared_object_id", units}};
}

// `backward_units`: of the layer that goes backwards; the other has 2.
std::string keras3_text(int backward_units) {
  const Json base = {
      {"name", "base"},
      {"layers", Json::array({keras3_input("i", 4),
                              keras3_layer("keras.layers", "Dense", {{"name", "d"}, {"units", 2}},
                                           keras3_call("i"))})},
      {"input_layers", Json::array({"i", 0, 0})},
      {"output_layers", Json::array({"d", 0, 0})}};
  Json layers = Json::array({keras3_input("x", 6)});
  layers.push_back(
      keras3_layer("keras.src.ops.numpy", "NotEqual", {{"name", "not_equal"}}, keras3_call("x")));
  layers.push_back(keras3_layer(
      "keras.layers", "Embedding",
      {{"name", "e"}, {"input_dim", 9}, {"output_dim", 3}, {"mask_zero", true}}, keras3_call("x")));
  layers.push_back(
      keras3_layer("keras.layers", "Bidirectional",
                   {{"name", "b"},
                    {"layer", keras3_lstm("forward_lstm", 2, false)},
                    {"backward_layer", keras3_lstm("backward_lstm", backward_units, true)}},
                   keras3_call("e", {{"mask", "not_equal"}})));
  layers.push_back(keras3_layer("keras.src.models.functional", "Functional", base,
                                keras3_call("b", {{"mask", nullptr}})));
  layers.push_back(
      keras3_layer("keras.layers", "Dense", {{"name", "o"}, {"units", 1}}, keras3_call("base")));
  const Json config = {
      {"name", "m"},
      {"layers", std::move(layers)},
      {"input_layers", Json::array({Json::array({"x", 0, 0})})},
      {"output_layers", Json::array({Json::array({"o", 0, 0}), Json::array({"base", 1, 0})})}};
  return Json{{"class_name", "Functional"}, {"config", config}}.dump();
}

TEST_F(Keras3FilesTest, ConfigurationsOfKeras3AreRead) {
  const Model model = model_from_json(keras3_text(2));
  EXPECT_EQ(model.outputs()[0].shape(), (Shape{-1, 1}));
  EXPECT_EQ(model.outputs()[1].shape(), (Shape{-1, 2}));
  EXPECT_EQ(model.get_layer("b").get_config().at("layer").at("config").at("name"), "lstm");
  EXPECT_THAT(error_of([] { model_from_json(keras3_text(3)); }),
              HasSubstr("Bidirectional: backward_layer, got a layer with other arguments"));
}

Json upgraded(const char* text, std::string_view version = "") {
  return upgrade_optimizer_config(Json::parse(text), version)["config"];
}

TEST(OptimizerConfigTest, ClassesOfLaterVersions) {
  const Json adam = upgraded(R"({"class_name": "Custom>Adam", "config": {"name": "Adam",
      "weight_decay": null, "clipnorm": null, "use_ema": false, "ema_momentum": 0.99,
      "ema_overwrite_frequency": 100, "jit_compile": true, "is_legacy_optimizer": false,
      "learning_rate": 0.5, "beta_1": 0.8, "amsgrad": false}})");
  EXPECT_EQ(adam, Json::parse(R"({"lr": 0.5, "weight_decay": null, "clipnorm": null,
      "use_ema": false, "beta_1": 0.8, "amsgrad": false})"));
  const Json weights = {{"class_name", "Adam"}, {"config", {{"use_ema", true}, {"lr", 0.1}}}};
  EXPECT_THAT(error_of([&] { optimizer_from_json(upgrade_optimizer_config(weights)); }),
              HasSubstr("Adam: argument 'use_ema' is not known"));
  EXPECT_EQ(upgraded(R"({"class_name": "RMSprop", "config": {"learning_rate": 0.1,
      "use_ema": false}})")
                .at("epsilon_in_root"),
            true);
  EXPECT_EQ(upgrade_optimizer_config("nadam")["config"].at("schedule_decay"), 1.0);
  EXPECT_EQ(upgrade_optimizer_config("adagrad")["config"].at("initial_accumulator_value"), 0.1);
  // TensorFlow 2.0 to 2.10.
  EXPECT_EQ(upgraded(R"({"class_name": "Nadam", "config": {"learning_rate": 0.1, "decay": 0.004}})",
                     "2.8.0"),
            Json::parse(R"({"lr": 0.1, "schedule_decay": 0.004, "lazy": true})"));
  EXPECT_FALSE(upgraded(R"({"class_name": "SGD", "config": {"learning_rate": 0.1}})", "2.1.6-tf")
                   .contains("lazy"));
  EXPECT_EQ(upgraded(R"({"class_name": "SGD", "config": {"use_ema": false, "learning_rate":
      {"class_name": "InverseTimeDecay", "config": {"initial_learning_rate": 0.1,
      "decay_steps": 2, "decay_rate": 0.5, "staircase": false}}}})")
                .at("decay"),
            0.25);
  EXPECT_THAT(error_of([] {
                upgraded(R"({"class_name": "SGD", "config": {"use_ema": false, "learning_rate":
                    {"class_name": "CosineDecay", "config": {}}}})");
              }),
              HasSubstr("SGD: learning_rate, got a schedule of class \"CosineDecay\""));
}

TEST(OptimizerConfigTest, VersionsAreCompared) {
  EXPECT_TRUE(is_version("2.15.0", 2, 3));
  EXPECT_TRUE(is_version("2.2.4-tf", 2, 2, 4));
  EXPECT_FALSE(is_version("2.1.6-tf", 2, 2, 4));
  EXPECT_TRUE(is_version("3.0.0", 3));
  EXPECT_FALSE(is_version("", 1));
}

// The version of the file decides what bilinear interpolation and an activity_regularizer mean, and
// files of ours keep it.
TEST_F(Keras3FilesTest, VersionsDecideMeanings) {
  const Sequential old_model(
      {layers::UpSampling2D(2, {.interpolation = "bilinear", .input_shape = Shape{3, 3, 1}}),
       layers::Flatten(), layers::Dense(1, {.activity_regularizer = regularizers::l2(0.5)})});
  Json json = Json::parse(old_model.to_json());
  EXPECT_EQ(json["keras_version"], "2.1.6-tf");
  json["keras_version"] = "2.15.0";
  const Model new_model = model_from_json(json.dump());
  new_model.set_weights(old_model.get_weights());
  const Tensor x = ramp({2, 3, 3, 1});
  EXPECT_FALSE(new_model.predict(x).identical(old_model.predict(x)));
  EXPECT_EQ(Json::parse(new_model.to_json())["keras_version"], "2.15.0");
  const std::string text = new_model.to_json();
  EXPECT_EQ(text.find("half_pixel"), std::string::npos);
  for (const char* name : {"new.h5", "new.keras"}) {
    new_model.save(folder_ / name);
    EXPECT_TRUE(load_model(folder_ / name).predict(x).identical(new_model.predict(x))) << name;
  }
  // The penalty is divided by the number of examples.
  const Sequential sum(
      {layers::Dense(1, {.activity_regularizer = regularizers::l2(0.5), .input_shape = Shape{2}})});
  json = Json::parse(sum.to_json());
  json["keras_version"] = "2.15.0";
  const Model mean = model_from_json(json.dump());
  mean.set_weights(sum.get_weights());
  const Tensor inputs = ramp({4, 2});
  const Tensor outputs = sum.predict(inputs);
  double squares = 0;
  for (int64_t i = 0; i < 4; ++i) squares += outputs.as_double(i) * outputs.as_double(i);
  for (const Model& model : {static_cast<const Model&>(sum), mean}) {
    model.compile({.optimizer = "sgd", .loss = "mse"});
  }
  EXPECT_NEAR(mean.test_on_batch(inputs, outputs)["loss"], 0.5 * squares / 4, 1e-5);
  EXPECT_NEAR(sum.test_on_batch(inputs, outputs)["loss"], 0.5 * squares, 1e-5);
  // 3 examples, padded to 4: the padding does not count.
  EXPECT_NEAR(mean.evaluate(inputs.slice(0, 3), outputs.slice(0, 3),
                            {.batch_size = 4, .verbose = 0})["loss"],
              0.5 * (squares - outputs.as_double(3) * outputs.as_double(3)) / 3, 1e-5);
}

}  // namespace
}  // namespace systole::keras
