#include "systole/keras/models/config_upgrade.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "systole/base/error.h"
#include "systole/keras/engine/layer_class.h"

namespace systole::keras {
namespace {

using NamePair = std::pair<std::string_view, std::string_view>;

// Keras 1 -> Keras 2. (keras/legacy/interfaces.py)
constexpr std::array kKeras1Classes = {
    NamePair{"Convolution1D", "Conv1D"},
    NamePair{"Convolution2D", "Conv2D"},
    NamePair{"Convolution3D", "Conv3D"},
    NamePair{"AtrousConvolution1D", "Conv1D"},
    NamePair{"AtrousConvolution2D", "Conv2D"},
    NamePair{"SeparableConvolution2D", "SeparableConv2D"},
    NamePair{"Deconvolution2D", "Conv2DTranspose"},
    NamePair{"TimeDistributedDense", "Dense"},
};
constexpr std::array kKeras1Arguments = {
    NamePair{"nb_filter", "filters"},
    NamePair{"filter_length", "kernel_size"},
    NamePair{"subsample", "strides"},
    NamePair{"subsample_length", "strides"},
    NamePair{"stride", "strides"},
    NamePair{"pool_length", "pool_size"},
    NamePair{"border_mode", "padding"},
    NamePair{"dim_ordering", "data_format"},
    NamePair{"atrous_rate", "dilation_rate"},
    NamePair{"length", "size"},
    NamePair{"init", "kernel_initializer"},
    NamePair{"inner_init", "recurrent_initializer"},
    NamePair{"inner_activation", "recurrent_activation"},
    NamePair{"W_regularizer", "kernel_regularizer"},
    NamePair{"U_regularizer", "recurrent_regularizer"},
    NamePair{"b_regularizer", "bias_regularizer"},
    NamePair{"W_constraint", "kernel_constraint"},
    NamePair{"U_constraint", "recurrent_constraint"},
    NamePair{"b_constraint", "bias_constraint"},
    NamePair{"beta_init", "beta_initializer"},
    NamePair{"gamma_init", "gamma_initializer"},
    NamePair{"bias", "use_bias"},
    NamePair{"p", "rate"},
    NamePair{"sigma", "stddev"},
    NamePair{"dropout_W", "dropout"},
    NamePair{"dropout_U", "recurrent_dropout"},
    NamePair{"input_dtype", "dtype"},
    NamePair{"batch_shape", "batch_input_shape"},  // Keras 3
};
// Merge(mode) of Keras 1.
constexpr std::array kMergeModes = {
    NamePair{"sum", "Add"},
    NamePair{"mul", "Multiply"},
    NamePair{"ave", "Average"},
    NamePair{"max", "Maximum"},
    NamePair{"dot", "Dot"},
    NamePair{"cos", "Dot"},
    NamePair{"concat", "Concatenate"},
};

std::string_view found_in(const auto& table, std::string_view name) {
  const auto it = std::ranges::find(table, name, &NamePair::first);
  return it == table.end() ? std::string_view() : it->second;
}

void rename(Json& config, std::string_view from, std::string_view to) {
  const auto it = config.find(std::string(from));
  if (it == config.end()) return;
  Json value = std::move(*it);
  config.erase(it);
  if (!config.contains(std::string(to))) config[std::string(to)] = std::move(value);
}

// {"nb_row": 3, "nb_col": 2} -> {"kernel_size": [3, 2]}
void join(Json& config, std::initializer_list<const char*> parts, const char* whole) {
  Json sizes = Json::array();
  for (const char* part : parts) {
    if (!config.contains(part)) return;
    sizes.push_back(config.at(part));
  }
  for (const char* part : parts) config.erase(part);
  config[whole] = std::move(sizes);
}

void upgrade_merge(Json& layer) {
  Json& config = layer["config"];
  const std::string mode = config.value("mode", "sum");
  const std::string_view class_name = found_in(kMergeModes, mode);
  if (class_name.empty() || config.contains("layers")) {
    throw unimplemented(
        "Merge of Keras 1: mode '{}', expected sum, mul, ave, max, dot, cos or concat in a "
        "functional model",
        mode);
  }
  Json made = {{"name", config.value("name", "")}};
  if (class_name == "Concatenate") made["axis"] = config.value("concat_axis", -1);
  if (class_name == "Dot") {
    made["axes"] = config.value("dot_axes", Json(-1));
    made["normalize"] = mode == "cos";
  }
  layer = {{"class_name", class_name}, {"config", std::move(made)}};
}

void upgrade_keras1_recurrent(Json& config) {
  if (config.contains("forget_bias_init")) {
    config["unit_forget_bias"] = config["forget_bias_init"] == "one";
    config.erase("forget_bias_init");
  }
  if (config.contains("consume_less")) {
    config["implementation"] = config["consume_less"] == "gpu" ? 2 : 1;
    config.erase("consume_less");
  }
}

void upgrade_embedding(Json& config) {
  rename(config, "init", "embeddings_initializer");
  rename(config, "W_regularizer", "embeddings_regularizer");
  rename(config, "W_constraint", "embeddings_constraint");
  if (config.value("dropout", Json(nullptr)) == 0.0) config.erase("dropout");
}

void upgrade_keras1_names(std::string_view class_name, Json& config) {
  if (class_name == "Embedding") {
    upgrade_embedding(config);
  } else {
    rename(config, "output_dim", "units");
    config.erase("input_dim");  // of the first layer: batch_input_shape says it, too
    config.erase("input_length");
  }
  join(config, {"nb_row", "nb_col"}, "kernel_size");
  join(config, {"kernel_dim1", "kernel_dim2", "kernel_dim3"}, "kernel_size");
  for (const auto& [from, to] : kKeras1Arguments) rename(config, from, to);
  upgrade_keras1_recurrent(config);
  if (config.contains("data_format")) {
    Json& format = config["data_format"];
    if (format == "tf") format = "channels_last";
    if (format == "th") format = "channels_first";
  }
  if (class_name == "LeakyReLU") rename(config, "negative_slope", "alpha");  // Keras 3
  if (class_name == "BatchNormalization" && config.value("mode", Json(nullptr)) == 0) {
    config.erase("mode");
  }
}

double number_of(const Json& json, const char* key) {
  const auto it = json.find(key);
  return it == json.end() || !it->is_number() ? 0.0 : it->get<double>();
}

Json upgraded_regularizer(const Json& json) {
  if (!json.is_object()) return json;
  const std::string name = json.value("class_name", json.value("name", ""));
  const Json& config = json.contains("config") ? json.at("config") : json;
  if (name == "L1" || name == "L2" || name == "WeightRegularizer" ||
      name == "ActivityRegularizer") {
    return {{"class_name", "L1L2"},
            {"config", {{"l1", number_of(config, "l1")}, {"l2", number_of(config, "l2")}}}};
  }
  return json;
}

Json upgraded_constraint(const Json& json) {
  if (!json.is_object()) return json;
  Json made = json;
  if (!json.contains("class_name") && json.contains("name")) {
    made = {{"class_name", json.at("name")}, {"config", json}};
    made["config"].erase("name");
  }
  if (made.contains("config")) rename(made["config"], "m", "max_value");
  return made;
}

// {"class_name": "function", "config": "relu"} -> "relu"
Json upgraded_activation(const Json& json) {
  if (!json.is_object() || !json.contains("config")) return json;
  const Json& config = json.at("config");
  if (config.is_string()) return config;
  return json;
}

// A policy's name, or that of a plain dtype.
Json upgraded_dtype(const Json& json) {
  if (!json.is_object()) return json;
  const Json config = json.value("config", Json::object());
  return config.is_object() ? config.value("name", Json("float32")) : Json("float32");
}

void upgrade_values(Json& config) {
  for (auto& [key, value] : config.items()) {
    const std::string_view name = key;
    if (name.ends_with("_regularizer")) {
      value = upgraded_regularizer(value);
    } else if (name.ends_with("_constraint")) {
      value = upgraded_constraint(value);
    } else if (name.ends_with("activation")) {
      value = upgraded_activation(value);
    } else if (name == "dtype") {
      value = upgraded_dtype(value);
    } else if (name == "layer" || name == "cell") {
      value = upgrade_layer_config(std::move(value));
    } else if (name == "cells" && value.is_array()) {
      for (Json& cell : value) cell = upgrade_layer_config(std::move(cell));
    }
  }
}

bool all_ones(const Json& json) {
  if (!json.is_array()) return json == 1;
  return std::ranges::all_of(json, [](const Json& item) { return item == 1; });
}

// Whether an argument of a later version says only that nothing special is asked for.
bool is_harmless(std::string_view key, const Json& value) {
  if (value.is_null() || value == false || (value.is_array() && value.empty())) return true;
  if (key == "groups" || key == "dilation_rate") return all_ones(value);
  if (key == "interpolation") return value == "nearest";
  if (key == "data_format") return value == "channels_last";
  if (key == "fused" || key == "renorm_momentum" || key == "autocast" || key == "use_cudnn") {
    return true;
  }
  // Keys of Keras 3: one concerns the outputs of masked steps alone, one is a seed of its own.
  if (key == "zero_output_for_mask" || key == "seed") return true;
  return key == "implementation";
}

bool is_common(std::string_view key) {
  return key == "name" || key == "trainable" || key == "dtype" || key == "batch_input_shape" ||
         key == "input_shape";
}

const LayerClass* class_if_known(const std::string& name) {
  try {
    return &find_layer_class(name);
  } catch (const Error&) {
    return nullptr;
  }
}

void drop_harmless(const LayerClass& layer_class, Json& config) {
  std::vector<std::string> dropped;
  for (const auto& [key, value] : config.items()) {
    const bool known = std::ranges::any_of(
        layer_class.arguments,
        [&key = key](const ArgumentDoc& argument) { return argument.name == key; });
    if (!known && !is_common(key) && is_harmless(key, value)) dropped.push_back(key);
  }
  for (const std::string& key : dropped) config.erase(key);
}

// Without what Keras 3 writes beside the arguments.
Json arguments_only(Json json) {
  if (json.is_array()) {
    for (Json& item : json) item = arguments_only(std::move(item));
  } else if (json.is_object()) {
    for (const char* key : {"shared_object_id", "build_config", "module", "registered_name"}) {
      json.erase(key);
    }
    for (auto& [key, value] : json.items()) value = arguments_only(std::move(value));
  }
  return json;
}

// Keras 3 writes both layers. Errors: UNIMPLEMENTED where they differ in more than the direction.
void upgrade_bidirectional(Json& config) {
  Json backward = config.value("backward_layer", Json());
  if (!config.contains("backward_layer")) return;
  config.erase("backward_layer");
  if (backward.is_null() || !config.contains("layer")) return;
  backward = upgrade_layer_config(std::move(backward));  // as the other one is by now
  Json& forward = config["layer"];
  const auto comparable = [](Json layer, bool backwards) {
    layer = arguments_only(std::move(layer));
    if (!layer.is_object() || !layer.contains("config")) return layer;
    layer["config"].erase("name");
    layer["config"]["go_backwards"] = layer["config"].value("go_backwards", false) != backwards;
    return layer;
  };
  if (comparable(forward, false) != comparable(backward, true)) {
    throw unimplemented(
        "Bidirectional: backward_layer, got a layer with other arguments, expected those of the "
        "forward layer");
  }
  constexpr std::string_view kForward = "forward_";
  std::string name = forward["config"].value("name", "");
  if (name.starts_with(kForward)) forward["config"]["name"] = name.substr(kForward.size());
}

}  // namespace

Json upgrade_layer_config(Json layer) {
  if (!layer.is_object() || !layer.contains("class_name") || !layer.contains("config") ||
      !layer["class_name"].is_string() || !layer["config"].is_object()) {
    return layer;
  }
  const std::string old_name = layer["class_name"].get<std::string>();
  if (const LayerClass* const own = class_if_known(old_name); own != nullptr && own->of_program) {
    return layer;
  }
  if (old_name == "Merge") {
    upgrade_merge(layer);
    return upgrade_layer_config(std::move(layer));
  }
  const std::string_view new_name = found_in(kKeras1Classes, old_name);
  const std::string class_name = new_name.empty() ? old_name : std::string(new_name);
  layer["class_name"] = class_name;
  Json& config = layer["config"];
  const LayerClass* const layer_class = class_if_known(class_name);
  upgrade_values(config);
  if (layer_class == nullptr) return layer;
  if (class_name == "Bidirectional") upgrade_bidirectional(config);
  upgrade_keras1_names(class_name, config);
  upgrade_values(config);  // under the names of now
  if (config.contains("axis") && config["axis"].is_array() && config["axis"].size() == 1 &&
      class_name == "BatchNormalization") {
    const Json axis = config["axis"][0];
    config["axis"] = axis;
  }
  drop_harmless(*layer_class, config);
  return layer;
}

std::string function_name_from_config(const Json& json) {
  if (json.is_string()) return json.get<std::string>();
  if (json.is_object()) {
    const Json config = json.value("config", Json());
    // TensorFlow 2 wraps metrics given by name: their name is what the program gave.
    if (config.is_string()) return config.get<std::string>();
    if (config.is_object() && json.value("class_name", "") == "MeanMetricWrapper" &&
        config.value("name", Json()).is_string()) {
      return config.at("name").get<std::string>();
    }
    if (json.contains("class_name") && json["class_name"].is_string()) {
      return snake_case(json["class_name"].get<std::string>());
    }
  }
  throw invalid_argument("got {}, expected the name of a loss or metric", json.dump());
}

}  // namespace systole::keras
