#include "systole/keras/models/keras3_config.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "systole/base/log.h"
#include "systole/keras/engine/layer_class.h"
#include "systole/keras/functions/activation.h"
#include "systole/keras/models/keras3_nodes.h"

namespace systole::keras {
namespace {

bool is_network_class(const std::string& class_name) {
  return class_name == "Sequential" || class_name == "Model";
}

bool is_class_of_program(const std::string& class_name) {
  try {
    return find_layer_class(class_name).of_program;
  } catch (const Error&) {
    return !is_network_class(class_name);
  }
}

// What Keras 3 finds a class by.
void set_module(Json& object, const std::string& class_name) {
  const bool of_program = is_class_of_program(class_name);
  object["module"] = of_program                     ? Json()
                     : is_network_class(class_name) ? Json("keras")
                                                    : Json("keras.layers");
  object["registered_name"] = of_program ? Json(class_name) : Json();
}

Json keras3_object_of(const std::string& class_name, Json config) {
  Json object = {{"module", nullptr}, {"class_name", class_name}, {"config", std::move(config)}};
  set_module(object, class_name);
  return object;
}

void replace_activations(const LayerDefinition& layer, Json& config) {
  for (auto& [key, value] : config.items()) {
    if (!std::string_view(key).ends_with("activation") || !value.is_string()) continue;
    if (value == "hard_sigmoid") {
      log_once(
          LogLevel::warning,
          "{}: {} 'hard_sigmoid' is clip(0.2 x + 0.5, 0, 1) here and relu6(x + 3) / 6 in Keras "
          "3, which will compute other values with this file",
          layer.name(), key);
    }
    if (value == Json(kHardSigmoidOfKeras3)) value = "hard_sigmoid";
  }
}

Json keras3_layer_object(const LayerDefinition& layer);

// The arguments of a layer that is no model.
Json keras3_layer_config(const LayerDefinition& layer) {
  Json config = layer.config();
  if (is_class_of_program(layer.class_name())) return config;
  if (layer.class_name() == "InputLayer") {
    config["batch_shape"] = config["batch_input_shape"];
  } else if (!layer.own_weights().empty() || config.contains("dtype")) {
    config["dtype"] = "float32";
  }
  config.erase("batch_input_shape");
  if (config.value("input_length", Json(0)).is_null()) config.erase("input_length");
  if (layer.class_name() == "MultiHeadAttention") {
    for (const char* key : {"query_shape", "key_shape", "value_shape"}) config.erase(key);
  }
  replace_activations(layer, config);
  const auto sublayers = layer.sublayers();
  if (layer.class_name() == "TimeDistributed") {
    config["layer"] = keras3_layer_object(*sublayers.at(0));
  } else if (!sublayers.empty() && config.contains("layer")) {
    replace_activations(*sublayers[0], config["layer"]["config"]);
  }
  return with_inner_modules(std::move(config));
}

// An InputLayer in front of the layers of a Sequential model.
Json keras3_input_layer(const std::string& name, const TensorType& type) {
  return keras3_object_of("InputLayer", {{"batch_shape", shape_to_json(type.shape)},
                                         {"dtype", std::string(dtype_info(type.dtype).tf_name)},
                                         {"sparse", false},
                                         {"name", name}});
}

Json keras3_sequential(const SequentialDefinition& model) {
  Json layers = Json::array();
  const std::vector<Layer> stack = model.layers();
  const std::vector<TensorType> inputs = model.input_types();
  if (!inputs.empty() && stack.at(0).class_name() != "InputLayer") {
    layers.push_back(keras3_input_layer(stack[0].name() + "_input", inputs[0]));
  }
  for (const Layer& layer : stack) layers.push_back(keras3_layer_object(*layer.definition()));
  Json config = {
      {"name", model.name()}, {"trainable", model.trainable()}, {"layers", std::move(layers)}};
  if (!inputs.empty()) config["build_input_shape"] = shape_to_json(inputs[0].shape);
  return config;
}

// {"args": ..., "kwargs": ...} of a call.
Json keras3_call(const LayerCall& call, const std::unordered_map<const LayerCall*, int>& indices) {
  const auto list_of = [&](const std::vector<KerasTensor>& inputs) {
    Json list = Json::array();
    for (const KerasTensor& input : inputs) {
      list.push_back(keras3_tensor(input, indices.at(input.call().get())));
    }
    return list;
  };
  const auto arguments = tensors_by_argument(call);
  Json tensors = list_of(arguments[0].second);
  Json kwargs = Json::object();
  if (call.training) kwargs["training"] = *call.training;
  for (const auto& [name, value] : call.arguments.flags) kwargs[name] = value;
  for (size_t i = 1; i < arguments.size(); ++i) {
    Json list = list_of(arguments[i].second);
    kwargs[arguments[i].first] = list.size() == 1 ? Json(list[0]) : std::move(list);
  }
  Json args = Json::array();
  if (call.layer->takes_initial_state() && tensors.size() > 1) {
    args.push_back(tensors[0]);
    Json states(tensors.begin() + 1, tensors.end());
    kwargs["initial_state"] = states.size() == 1 ? Json(states[0]) : std::move(states);
  } else if (tensors.size() == 1) {
    args.push_back(tensors[0]);
  } else {
    args.push_back(std::move(tensors));
  }
  return {{"args", std::move(args)}, {"kwargs", std::move(kwargs)}};
}

Json keras3_functional(const NetworkDefinition& model) {
  std::unordered_map<const LayerCall*, int> indices;  // from 0 for all layers
  std::unordered_map<const LayerDefinition*, std::vector<const LayerCall*>> calls;
  for (const auto& call : model.calls()) calls[call->layer.get()].push_back(call.get());
  for (auto& [layer, of_layer] : calls) {
    std::ranges::sort(of_layer, {}, &LayerCall::node_index);
    for (size_t i = 0; i < of_layer.size(); ++i) indices[of_layer[i]] = static_cast<int>(i);
  }
  Json layers = Json::array();
  for (const Layer& layer : model.layers()) {
    Json object = keras3_layer_object(*layer.definition());
    object["name"] = layer.name();
    object["inbound_nodes"] = Json::array();
    for (const LayerCall* const call : calls[layer.definition().get()]) {
      if (!call->inputs.empty()) object["inbound_nodes"].push_back(keras3_call(*call, indices));
    }
    layers.push_back(std::move(object));
  }
  const auto ends = [&](const KerasTensors& tensors) {
    Json list = Json::array();
    for (const KerasTensor& tensor : tensors) {
      const LayerDefinition& layer = *tensor.call()->layer;
      const int first = layer.class_name() == "Model" ? NetworkDefinition::kFirstCall : 0;
      list.push_back(
          Json::array({layer.name(), indices.at(tensor.call().get()) + first, tensor.index()}));
    }
    return list;
  };
  return {{"name", model.name()},
          {"trainable", model.trainable()},
          {"layers", std::move(layers)},
          {"input_layers", ends(model.inputs())},
          {"output_layers", ends(model.outputs())}};
}

Json keras3_layer_object(const LayerDefinition& layer) {
  if (const auto* const model = dynamic_cast<const NetworkDefinition*>(&layer)) {
    return keras3_model_config(*model);
  }
  return keras3_object_of(layer.class_name(), keras3_layer_config(layer));
}

}  // namespace

Json keras3_model_config(const NetworkDefinition& model) {
  if (const auto* const stack = dynamic_cast<const SequentialDefinition*>(&model)) {
    return keras3_object_of("Sequential", keras3_sequential(*stack));
  }
  return keras3_object_of("Model", keras3_functional(model));
}

Json with_inner_modules(Json config) {
  const auto mark = [](Json& inner) {
    if (!inner.is_object() || !inner.contains("class_name") || inner.contains("module")) return;
    set_module(inner, inner["class_name"].get<std::string>());
    if (inner.contains("config")) inner["config"] = with_inner_modules(std::move(inner["config"]));
  };
  if (!config.is_object()) return config;
  for (auto& [key, value] : config.items()) {
    if (key == "layer" || key == "cell" || key == "backward_layer") mark(value);
    if (key == "cells" && value.is_array()) std::ranges::for_each(value, mark);
    if (key == "layers" && value.is_array()) {
      for (Json& layer : value) {
        if (layer.is_object() && layer.contains("config")) {
          layer["config"] = with_inner_modules(std::move(layer["config"]));
        }
      }
    }
  }
  return config;
}

}  // namespace systole::keras
