#include "systole/keras/models/config_upgrade.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "systole/base/testing/error_of.h"
#include "systole/graph/api/math_ops.h"
#include "systole/keras/engine/layer_class.h"
#include "systole/keras/keras.h"

namespace systole::keras {
namespace {

using ::systole::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The configuration in alphabetical order, for comparison.
nlohmann::json upgraded_config(const char* class_name, const char* config) {
  const Json layer =
      upgrade_layer_config({{"class_name", class_name}, {"config", Json::parse(config)}});
  return nlohmann::json::parse(layer.dump());
}

nlohmann::json json_text(const char* text) { return nlohmann::json::parse(text); }

TEST(ConfigUpgradeTest, Keras1Dense) {
  EXPECT_EQ(upgraded_config("TimeDistributedDense", R"({
      "name": "d", "trainable": true, "batch_input_shape": [null, 4], "input_dtype": "float32",
      "output_dim": 6, "init": "glorot_uniform", "activation": "linear", "bias": true,
      "W_regularizer": {"name": "WeightRegularizer", "l1": 0.0, "l2": 0.1}, "b_regularizer": null,
      "activity_regularizer": null, "W_constraint": {"name": "MaxNorm", "m": 3, "axis": 0},
      "b_constraint": null, "input_dim": 4, "input_length": null})"),
            json_text(R"({"class_name": "Dense", "config": {
      "name": "d", "trainable": true, "batch_input_shape": [null, 4], "dtype": "float32",
      "units": 6, "kernel_initializer": "glorot_uniform", "activation": "linear", "use_bias": true,
      "kernel_regularizer": {"class_name": "L1L2", "config": {"l1": 0.0, "l2": 0.1}},
      "bias_regularizer": null, "activity_regularizer": null,
      "kernel_constraint": {"class_name": "MaxNorm", "config": {"max_value": 3, "axis": 0}},
      "bias_constraint": null}})"));
}

TEST(ConfigUpgradeTest, Keras1RecurrentAndEmbedding) {
  EXPECT_EQ(upgraded_config("LSTM", R"({
      "name": "l", "output_dim": 3, "init": "uniform", "inner_init": "orthogonal",
      "forget_bias_init": "one", "activation": "tanh", "inner_activation": "hard_sigmoid",
      "dropout_W": 0.5, "dropout_U": 0.25, "consume_less": "gpu", "input_dim": 2,
      "input_length": 10, "return_sequences": true, "U_regularizer": null})"),
            json_text(R"({"class_name": "LSTM", "config": {
      "name": "l", "units": 3, "kernel_initializer": "uniform",
      "recurrent_initializer": "orthogonal", "unit_forget_bias": true, "activation": "tanh",
      "recurrent_activation": "hard_sigmoid", "dropout": 0.5, "recurrent_dropout": 0.25,
      "implementation": 2, "return_sequences": true, "recurrent_regularizer": null}})"));
  EXPECT_EQ(upgraded_config("Embedding", R"({
      "name": "e", "input_dim": 7, "output_dim": 2, "init": "uniform", "input_length": 5,
      "W_regularizer": null, "W_constraint": null, "dropout": 0.0, "mask_zero": true})"),
            json_text(R"({"class_name": "Embedding", "config": {
      "name": "e", "input_dim": 7, "output_dim": 2, "embeddings_initializer": "uniform",
      "input_length": 5, "embeddings_regularizer": null, "embeddings_constraint": null,
      "mask_zero": true}})"));
  EXPECT_EQ(upgraded_config("Dropout", R"({"name": "x", "p": 0.25})"),
            json_text(R"({"class_name": "Dropout", "config": {"name": "x", "rate": 0.25}})"));
}

TEST(ConfigUpgradeTest, TensorFlow2AndKeras3) {
  EXPECT_EQ(upgraded_config("Dense", R"({
      "name": "d", "units": 2, "dtype": {"module": "keras", "class_name": "DTypePolicy",
      "config": {"name": "float32"}, "registered_name": null},
      "activation": {"class_name": "function", "config": "relu"}, "lora_rank": null,
      "quantization_config": null, "batch_shape": [null, 3],
      "kernel_regularizer": {"class_name": "L2", "config": {"l2": 0.5}},
      "kernel_initializer": {"module": "keras.initializers", "class_name": "GlorotUniform",
      "config": {"seed": null}, "registered_name": null}})"),
            json_text(R"({"class_name": "Dense", "config": {
      "name": "d", "units": 2, "dtype": "float32", "activation": "relu",
      "batch_input_shape": [null, 3],
      "kernel_regularizer": {"class_name": "L1L2", "config": {"l1": 0.0, "l2": 0.5}},
      "kernel_initializer": {"module": "keras.initializers", "class_name": "GlorotUniform",
      "config": {"seed": null}, "registered_name": null}}})"));
  EXPECT_EQ(upgraded_config("LSTM", R"({"units": 2, "time_major": false, "use_cudnn": "auto"})"),
            json_text(R"({"class_name": "LSTM", "config": {"units": 2}})"));
  // What asks for something special stays, and is an error.
  EXPECT_EQ(upgraded_config("LSTM", R"({"units": 2, "time_major": true})"),
            json_text(R"({"class_name": "LSTM", "config": {"units": 2, "time_major": true}})"));
}

TEST(ConfigUpgradeTest, LayersInside) {
  const Json layer = upgrade_layer_config(
      Json::parse(R"({"class_name": "Unknown", "config": {"layer": {"class_name": "Dense",
                      "config": {"output_dim": 3, "init": "zero"}}}})"));
  EXPECT_EQ(layer["config"]["layer"]["config"]["units"], 3);
  EXPECT_EQ(layer["config"]["layer"]["config"]["kernel_initializer"], "zero");
}

TEST(ConfigUpgradeTest, Keras1Merge) {
  EXPECT_EQ(upgraded_config("Merge", R"({"name": "m", "mode": "concat", "concat_axis": 1})"),
            json_text(R"({"class_name": "Concatenate", "config": {"name": "m", "axis": 1}})"));
  EXPECT_EQ(upgraded_config("Merge", R"({"name": "m", "mode": "sum"})")["class_name"], "Add");
  EXPECT_THAT(error_of([] { upgraded_config("Merge", R"({"mode": "lambda"})"); }),
              HasSubstr("Merge of Keras 1: mode 'lambda'"));
}

// Arguments of a program's own class may have the names of Keras 1, and any value.
class Signed : public LayerDefinition {
 public:
  std::string class_name() const override { return "Signed"; }
  std::vector<Output> call(CallContext&, const std::vector<Output>& x) override {
    return {negate ? -x[0] : x[0]};
  }
  Json config() const override {
    Json json = common_config(*this);
    json.update({{"negate", negate},
                 {"output_dim", 3},
                 {"input_dim", 4},
                 {"p", 0.5},
                 {"stride", 2},
                 {"taps", Json::array()},
                 {"none", nullptr}});
    return json;
  }

  bool negate = true;
};

TEST(ConfigUpgradeTest, ClassesOfAProgramGetWhatTheyWrote) {
  static Json got;
  register_layer_class({.name = "Signed", .from_config = [](const Json& given) {
                          got = given;
                          Json config = given;
                          const CommonArguments common = take_common_arguments(config);
                          auto layer = std::make_shared<Signed>();
                          layer->negate = config.value("negate", true);
                          apply_common(*layer, common);
                          return layer;
                        }});
  const auto definition = std::make_shared<Signed>();
  definition->negate = false;
  const Sequential model({layers::Activation("linear", {.input_shape = {2}}), Layer(definition)});
  const Tensor x({1, 2}, {1.0F, 2.0F});
  EXPECT_TRUE(models::clone_model(model).predict(x).identical(x));
  EXPECT_EQ(got, definition->config());
  model.save("mem://signed.h5");
  EXPECT_TRUE(load_model("mem://signed.h5").predict(x).identical(x));
  EXPECT_EQ(got, definition->config());
}

TEST(ConfigUpgradeTest, OptimizersAndFunctions) {
  EXPECT_EQ(
      upgrade_optimizer_config(Json::parse(
          R"({"class_name": "Custom>Adam", "config": {"name": "Adam", "learning_rate": 0.5}})")),
      Json::parse(R"({"class_name": "Adam", "config": {"lr": 0.5}})"));
  EXPECT_EQ(function_name_from_config("mse"), "mse");
  EXPECT_EQ(function_name_from_config(Json::parse(
                R"({"class_name": "MeanSquaredError", "config": {"reduction": "auto"}})")),
            "mean_squared_error");
  EXPECT_EQ(function_name_from_config(Json::parse(
                R"({"class_name": "MeanMetricWrapper", "config": {"name": "accuracy"}})")),
            "accuracy");
  EXPECT_THAT(error_of([] { function_name_from_config(7); }), HasSubstr("got 7"));
}

TEST(ConfigUpgradeTest, ModelsOfTensorFlow2) {
  const Model sequential = model_from_json(R"({"class_name": "Sequential", "config": {
      "name": "s", "layers": [
        {"module": "keras.layers", "class_name": "InputLayer", "registered_name": null, "config": {
           "batch_input_shape": [null, 4], "dtype": "float32", "sparse": false, "ragged": false,
           "name": "in"}},
        {"class_name": "Dense", "config": {"name": "d", "units": 2, "activation": "relu"}}]},
      "keras_version": "2.4.0", "backend": "tensorflow"})");
  EXPECT_EQ(sequential.outputs().shape(), (Shape{-1, 2}));
  const Model late = model_from_json(R"({"class_name": "Sequential", "config": {"name": "s",
      "layers": [{"class_name": "Dense", "config": {"name": "d", "units": 2}}],
      "build_input_shape": [null, 3]}})");
  EXPECT_EQ(late.weights().at(0)->shape(), (Shape{3, 2}));
  const Model functional = model_from_json(R"({"class_name": "Functional", "config": {"name": "f",
      "layers": [
        {"class_name": "InputLayer", "name": "in", "inbound_nodes": [], "config": {
           "batch_input_shape": [null, 4], "dtype": "int32", "ragged": false, "name": "in"}},
        {"class_name": "Embedding", "name": "e", "inbound_nodes": [[["in", 0, 0, {}]]],
         "config": {"name": "e", "input_dim": 9, "output_dim": 2, "input_length": 4}},
        {"class_name": "Dropout", "name": "x", "config": {"name": "x", "rate": 0.5},
         "inbound_nodes": [[["e", 0, 0, {"training": true}]]]}],
      "input_layers": [["in", 0, 0]], "output_layers": [["x", 0, 0]]}})");
  EXPECT_THAT(functional.output_names(), ElementsAre("x"));
  EXPECT_EQ(functional.outputs().only().call()->training, std::optional(true));
  EXPECT_EQ(functional.inputs().only().dtype(), DType::s32);
}

TEST(ConfigUpgradeTest, TextThatIsNoModel) {
  EXPECT_THAT(error_of([] { model_from_json("{"); }), HasSubstr("the text is not JSON"));
  EXPECT_THAT(error_of([] { model_from_json(std::string(100000, '[')); }),
              HasSubstr("more than 500 levels"));
  EXPECT_THAT(error_of([] { model_from_json(R"({"class_name": "Tree", "config": {}})"); }),
              HasSubstr("Unknown model: \"Tree\""));
  EXPECT_THAT(error_of([] {
                model_from_json(R"({"class_name": "Sequential", "config": [
                    {"class_name": "Danse", "config": {}}]})");
              }),
              HasSubstr("Unknown layer: Danse, did you mean 'Dense'?"));
}

}  // namespace
}  // namespace systole::keras
