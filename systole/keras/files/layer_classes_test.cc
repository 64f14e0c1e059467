// Every layer class, written to files and read back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "systole/base/random.h"
#include "systole/graph/api/math_ops.h"
#include "systole/keras/engine/layer_class.h"
#include "systole/keras/keras.h"

namespace systole::keras {
namespace {

struct LayerRow {
  const char* class_name;
  const char* config;  // the required arguments, and some others
  const char* inputs;  // shapes
};

constexpr const char* kTwoImages = "[[null, 4, 6], [null, 4, 6]]";

// To cover a new class, add its row.
constexpr LayerRow kLayerRows[] = {
    {"Dense", R"({"units": 3, "kernel_regularizer": {"class_name": "L1L2", "config":
                    {"l1": 0.0, "l2": 0.5}}, "activation": "relu"})",
     "[[null, 4]]"},
    {"Activation", R"({"activation": "tanh"})", "[[null, 4]]"},
    {"Dropout", R"({"rate": 0.25, "seed": 3})", "[[null, 4]]"},
    {"Flatten", "{}", "[[null, 4, 2]]"},
    {"Reshape", R"({"target_shape": [2, -1]})", "[[null, 4]]"},
    {"Permute", R"({"dims": [2, 1]})", "[[null, 4, 3]]"},
    {"RepeatVector", R"({"n": 3})", "[[null, 4]]"},
    {"Masking", R"({"mask_value": 0.5})", "[[null, 4, 3]]"},
    {"Embedding", R"({"input_dim": 9, "output_dim": 3, "mask_zero": true, "input_length": 4})",
     "[[null, 4]]"},
    {"SimpleRNN", R"({"units": 3, "return_sequences": true})", "[[null, 4, 2]]"},
    {"LSTM", R"({"units": 3, "recurrent_dropout": 0.5, "go_backwards": true})", "[[null, 4, 2]]"},
    {"GRU", R"({"units": 3, "reset_after": true})", "[[null, 4, 2]]"},
    {"ConvLSTM2D", R"({"filters": 3, "kernel_size": [2, 3], "padding": "same"})",
     "[[null, 4, 5, 6, 2]]"},
    {"CuDNNLSTM", R"({"units": 3, "return_sequences": true})", "[[null, 4, 2]]"},
    {"CuDNNGRU", R"({"units": 3, "go_backwards": true})", "[[null, 4, 2]]"},
    {"SimpleRNNCell", R"({"units": 3, "activation": "relu"})", "[[null, 2], [null, 3]]"},
    {"GRUCell", R"({"units": 3, "reset_after": true})", "[[null, 2], [null, 3]]"},
    {"LSTMCell", R"({"units": 3, "unit_forget_bias": false})", "[[null, 2], [null, 3], [null, 3]]"},
    {"StackedRNNCells",
     R"({"cells": [{"class_name": "GRUCell", "config": {"name": "first", "units": 3}},
                   {"class_name": "SimpleRNNCell", "config": {"name": "second", "units": 2}}]})",
     "[[null, 2], [null, 3], [null, 2]]"},
    {"Lambda", R"({"function": "files_times", "arguments": {"factor": 3}})", "[[null, 4]]"},
    {"RNN", R"({"cell": {"class_name": "LSTMCell", "config": {"units": 3}}})", "[[null, 4, 2]]"},
    {"Bidirectional", R"({"layer": {"class_name": "LSTM", "config": {"name": "inner", "units": 3}},
                            "merge_mode": "concat"})",
     "[[null, 4, 2]]"},
    {"TimeDistributed",
     R"({"layer": {"class_name": "Dense", "config": {"name": "inner", "units": 3}}})",
     "[[null, 4, 2]]"},
    {"Conv1D", R"({"filters": 3, "kernel_size": [2], "padding": "causal"})", "[[null, 6, 2]]"},
    {"Conv2D", R"({"filters": 3, "kernel_size": [2, 3], "strides": [2, 1]})", "[[null, 6, 5, 2]]"},
    {"Conv3D", R"({"filters": 3, "kernel_size": [2, 1, 2]})", "[[null, 4, 4, 4, 2]]"},
    {"Conv2DTranspose", R"({"filters": 3, "kernel_size": [2, 2], "strides": [2, 2]})",
     "[[null, 4, 5, 2]]"},
    {"Conv3DTranspose", R"({"filters": 3, "kernel_size": [2, 2, 2]})", "[[null, 3, 4, 5, 2]]"},
    {"SeparableConv1D", R"({"filters": 3, "kernel_size": [2], "depth_multiplier": 2})",
     "[[null, 6, 2]]"},
    {"SeparableConv2D", R"({"filters": 3, "kernel_size": [2, 2]})", "[[null, 6, 5, 2]]"},
    {"DepthwiseConv2D", R"({"kernel_size": [2, 2], "depth_multiplier": 2})", "[[null, 6, 5, 2]]"},
    {"MaxPooling1D", R"({"pool_size": [2]})", "[[null, 6, 2]]"},
    {"MaxPooling2D", R"({"pool_size": [2, 2], "padding": "same"})", "[[null, 5, 6, 2]]"},
    {"MaxPooling3D", R"({"pool_size": [2, 2, 2]})", "[[null, 4, 4, 4, 2]]"},
    {"AveragePooling1D", R"({"pool_size": [2]})", "[[null, 6, 2]]"},
    {"AveragePooling2D", R"({"pool_size": [2, 2], "strides": [1, 2]})", "[[null, 5, 6, 2]]"},
    {"AveragePooling3D", R"({"pool_size": [2, 2, 2]})", "[[null, 4, 4, 4, 2]]"},
    {"GlobalMaxPooling1D", "{}", "[[null, 6, 2]]"},
    {"GlobalMaxPooling2D", "{}", "[[null, 5, 6, 2]]"},
    {"GlobalMaxPooling3D", "{}", "[[null, 4, 4, 4, 2]]"},
    {"GlobalAveragePooling1D", "{}", "[[null, 6, 2]]"},
    {"GlobalAveragePooling2D", "{}", "[[null, 5, 6, 2]]"},
    {"GlobalAveragePooling3D", "{}", "[[null, 4, 4, 4, 2]]"},
    {"UpSampling1D", R"({"size": 2})", "[[null, 3, 2]]"},
    {"UpSampling2D", R"({"size": [2, 3]})", "[[null, 3, 4, 2]]"},
    {"UpSampling3D", R"({"size": [2, 1, 2]})", "[[null, 2, 3, 2, 2]]"},
    {"ZeroPadding1D", R"({"padding": [1, 2]})", "[[null, 3, 2]]"},
    {"ZeroPadding2D", R"({"padding": [[1, 2], [0, 1]]})", "[[null, 3, 4, 2]]"},
    {"ZeroPadding3D", R"({"padding": [[1, 2], [0, 1], [1, 1]]})", "[[null, 2, 3, 2, 2]]"},
    {"Cropping1D", R"({"cropping": [1, 1]})", "[[null, 5, 2]]"},
    {"Cropping2D", R"({"cropping": [[1, 1], [0, 1]]})", "[[null, 4, 4, 2]]"},
    {"Cropping3D", R"({"cropping": [[1, 1], [0, 1], [1, 0]]})", "[[null, 4, 3, 3, 2]]"},
    {"BatchNormalization", R"({"axis": -1, "momentum": 0.9, "scale": true})", "[[null, 4, 3]]"},
    {"LayerNormalization", "{}", "[[null, 4, 3]]"},
    {"LeakyReLU", R"({"alpha": 0.2})", "[[null, 4]]"},
    {"PReLU", R"({"shared_axes": [1]})", "[[null, 4, 3]]"},
    {"ELU", R"({"alpha": 0.5})", "[[null, 4]]"},
    {"ThresholdedReLU", R"({"theta": 0.5})", "[[null, 4]]"},
    {"Softmax", R"({"axis": -1})", "[[null, 4]]"},
    {"ReLU", R"({"max_value": 0.5})", "[[null, 4]]"},
    {"ActivityRegularization", R"({"l1": 0.5, "l2": 0.25})", "[[null, 4]]"},
    {"SpatialDropout1D", R"({"rate": 0.5})", "[[null, 4, 3]]"},
    {"SpatialDropout2D", R"({"rate": 0.5})", "[[null, 4, 3, 2]]"},
    {"SpatialDropout3D", R"({"rate": 0.5})", "[[null, 4, 3, 2, 2]]"},
    {"GaussianNoise", R"({"stddev": 0.5})", "[[null, 4]]"},
    {"GaussianDropout", R"({"rate": 0.5})", "[[null, 4]]"},
    {"AlphaDropout", R"({"rate": 0.5})", "[[null, 4]]"},
    {"Add", "{}", kTwoImages},
    {"Subtract", "{}", kTwoImages},
    {"Multiply", "{}", kTwoImages},
    {"Average", "{}", kTwoImages},
    {"Maximum", "{}", kTwoImages},
    {"Minimum", "{}", kTwoImages},
    {"Concatenate", R"({"axis": 1})", kTwoImages},
    {"Dot", R"({"axes": 1})", kTwoImages},
    {"Attention", R"({"use_scale": true, "score_mode": "concat"})", kTwoImages},
    {"MultiHeadAttention", R"({"num_heads": 2, "key_dim": 3, "value_dim": 4, "output_shape": 5})",
     kTwoImages},
};

const LayerRow* row_of(const std::string& class_name) {
  for (const LayerRow& row : kLayerRows) {
    if (row.class_name == class_name) return &row;
  }
  return nullptr;
}

// A functional model of one layer.
Model model_of(const LayerRow& row) {
  Json config = Json::parse(row.config);
  config["name"] = "layer";
  Json layers = Json::array();
  Json ends = Json::array();
  Json node = Json::array();
  for (const Json& shape : Json::parse(row.inputs)) {
    const std::string name = fmt::format("in_{}", ends.size());
    layers.push_back({{"name", name},
                      {"class_name", "InputLayer"},
                      {"config", {{"name", name}, {"batch_input_shape", shape}}},
                      {"inbound_nodes", Json::array()}});
    ends.push_back(Json::array({name, 0, 0}));
    node.push_back(Json::array({name, 0, 0, Json::object()}));
  }
  layers.push_back({{"name", "layer"},
                    {"class_name", row.class_name},
                    {"config", std::move(config)},
                    {"inbound_nodes", Json::array({std::move(node)})}});
  return model_from_config({{"class_name", "Model"},
                            {"config",
                             {{"name", "model"},
                              {"layers", std::move(layers)},
                              {"input_layers", std::move(ends)},
                              {"output_layers", Json::array({Json::array({"layer", 0, 0})})}}}});
}

Tensor uniform_values(const TensorType& type, uint64_t seed, double scale) {
  Tensor values(type);
  RandomStream stream(seed);
  for (float& x : values.data<float>()) {
    x = static_cast<float>(scale * (0.1 + 0.9 * stream.next_uniform()));
  }
  return values;
}

class LayerClassFileTest : public ::testing::TestWithParam<std::string> {};

TEST_P(LayerClassFileTest, RoundTrip) {
  const std::string class_name = GetParam();
  const LayerRow* const row = row_of(class_name);
  ASSERT_NE(row, nullptr) << "no row for layer class '" << class_name << "' in this file";
  layers::register_lambda("files_times", layers::lambda_function([](const std::vector<Output>& x,
                                                                    const Json& arguments) {
                            return x.at(0) * arguments.at("factor").get<double>();
                          }));
  const Model model = model_of(*row);
  uint64_t seed = 1;
  for (const WeightPtr& weight : model.weights()) {
    weight->set_value(uniform_values(weight->type(), seed++, 1));
  }
  std::vector<Tensor> inputs;
  for (const KerasTensor& input : model.inputs()) {
    Dims dims = input.shape().dims();
    dims[0] = 2;
    inputs.push_back(uniform_values({DType::f32, Shape(dims)}, seed++, 3));
  }
  const std::vector<Tensor> expected = model.predict_all(inputs);
  const auto same = [&](const Model& other) {
    const std::vector<Tensor> got = other.predict_all(inputs);
    return std::ranges::equal(got, expected,
                              [](const Tensor& a, const Tensor& b) { return a.identical(b); });
  };
  model.save("mem://layer_classes/model.h5");
  const Model loaded = load_model("mem://layer_classes/model.h5", {.compile = false});
  EXPECT_EQ(loaded.to_json(), model.to_json());
  EXPECT_TRUE(same(loaded));
  for (const char* path : {"mem://layer_classes/weights.h5", "mem://layer_classes/weights"}) {
    model.save_weights(path);
    const Model clone = clone_model(model);
    clone.load_weights(path);
    EXPECT_TRUE(same(clone)) << path;
  }
}

// Inputs are in every model above.
std::vector<std::string> tested_classes() {
  std::vector<std::string> names = layer_class_names();
  std::erase(names, "InputLayer");
  return names;
}

INSTANTIATE_TEST_SUITE_P(Classes, LayerClassFileTest, ::testing::ValuesIn(tested_classes()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace systole::keras
