#include "systole/keras/models/serialization.h"

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "systole/base/error.h"
#include "systole/keras/engine/layer_class.h"
#include "systole/keras/models/config_upgrade.h"
#include "systole/keras/models/config_version.h"
#include "systole/keras/models/keras3_nodes.h"

namespace systole::keras {
namespace {

constexpr int kMaxJsonDepth = 500;  // what reads configurations is recursive

// The number of the first call of `layer` in configurations and summaries.
int first_call(const LayerDefinition& layer) {
  return dynamic_cast<const NetworkDefinition*>(&layer) != nullptr ? NetworkDefinition::kFirstCall
                                                                   : 0;
}

// Keras numbers the calls of a layer within the model, in the order of the layer's calls.
std::unordered_map<const LayerCall*, int> node_indices(const NetworkDefinition& network) {
  std::unordered_map<const LayerDefinition*, std::vector<const LayerCall*>> calls;
  for (const auto& call : network.calls()) calls[call->layer.get()].push_back(call.get());
  std::unordered_map<const LayerCall*, int> indices;
  for (auto& [layer, of_layer] : calls) {
    std::ranges::sort(of_layer, {}, &LayerCall::node_index);
    int index = first_call(*layer);
    for (const LayerCall* const call : of_layer) indices[call] = index++;
  }
  return indices;
}

bool is_model_class(const std::string& class_name) {
  return class_name == "Sequential" || class_name == "Model" || class_name == "Functional";
}

// TensorFlow 2 writes the shape of a Sequential model's data beside its layers.
void build_for_shape(const Sequential& model, const Json& config) {
  const auto it = config.find("build_input_shape");
  if (it == config.end() || !it->is_array() || it->empty() || model.layers().empty()) return;
  Dims dims;
  for (const Json& size : *it) dims.push_back(size.is_null() ? -1 : size.get<int64_t>());
  const DType dtype = model.get_layer(0).definition()->input_dtype();
  model.model()->build_for({{dtype, Shape(std::move(dims))}});
}

Model sequential_from_config(const Json& config) {
  const bool list = config.is_array();  // Keras up to 2.2.2
  Sequential model({.name = list ? "" : config.value("name", "")});
  for (const Json& layer : list ? config : config.at("layers")) model.add(layer_from_json(layer));
  if (!list) build_for_shape(model, config);
  return model;
}

// Builds the calls of a functional model in an order in which their inputs exist.
class NetworkReader {
 public:
  explicit NetworkReader(const Json& config) : config_(config) {}

  Model read() {
    find_first_calls();
    for (const Json& layer : config_.at("layers")) read_layer(layer);
    while (!pending_.empty()) {
      const size_t before = pending_.size();
      std::vector<Pending> waiting;
      for (Pending& call : pending_) {
        if (!make_call(call)) waiting.push_back(std::move(call));
      }
      pending_ = std::move(waiting);
      if (pending_.size() == before) {
        throw invalid_argument("model: layer '{}' has an inbound node that no layer makes",
                               pending_[0].layer);
      }
    }
    return {ends("input_layers"), ends("output_layers"), {.name = config_.value("name", "")}};
  }

 private:
  // Keras numbers the calls of nested models from 1. Files of TensorFlow 2 with models that were
  // built by data, and older files of this library, number them from 0. Each call is read
  // somewhere, so the least number that is read is the first.
  void find_first_calls() {
    for (const Json& layer : config_.at("layers")) {
      const std::string class_name = layer.at("class_name").get<std::string>();
      if (!is_model_class(class_name)) continue;
      first_calls_[layer.at("name").get<std::string>()] = NetworkDefinition::kFirstCall;
    }
    const auto see = [&](const Json& reference) {
      if (!reference.is_array() || reference.size() < 2 || !reference[0].is_string()) return;
      const auto it = first_calls_.find(reference[0].get<std::string>());
      if (it != first_calls_.end() && reference[1] == 0) it->second = 0;
    };
    for (const Json& layer : config_.at("layers")) {
      for (const Json& node : layer.value("inbound_nodes", Json(Json::array()))) {
        for (const Json& reference : node) see(reference);
      }
    }
    for (const char* key : {"input_layers", "output_layers"}) {
      see(config_.at(key));
      for (const Json& reference : config_.at(key)) see(reference);
    }
  }

  struct Pending {
    std::string layer;
    size_t node;
    Json inputs;
  };

  void read_layer(const Json& json) {
    const std::string name = json.at("name").get<std::string>();
    const Json inbound = json.value("inbound_nodes", Json(Json::array()));
    if (json.at("class_name") == "InputLayer") {
      const Json input = upgrade_layer_config(json);
      const auto layer = find_layer_class("InputLayer").from_config(input.at("config"));
      if (!layer->batch_input_shape()) {
        throw invalid_argument("model: input '{}' has no batch_input_shape", name);
      }
      const Shape& shape = *layer->batch_input_shape();
      results_[name] = {
          keras::Input(Shape(Dims(shape.begin() + 1, shape.end())),
                       {.batch_size = shape[0], .name = name, .dtype = layer->input_dtype()})};
      return;
    }
    layers_.emplace(name, layer_from_json(json));
    results_[name].resize(inbound.size());
    for (size_t node = 0; node < inbound.size(); ++node) {
      pending_.push_back({name, node, inbound[node]});
    }
  }

  // Null when the tensor has not been made yet. `reference`: [layer, node, tensor, ...].
  const KerasTensor* find(const Json& reference) const {
    const auto it = results_.find(reference.at(0).get<std::string>());
    if (it == results_.end()) return nullptr;
    auto node = reference.at(1).get<size_t>();
    const auto tensor = reference.at(2).get<size_t>();
    const auto first = first_calls_.find(it->first);
    if (first != first_calls_.end()) node -= first->second;  // wraps around below it
    if (node >= it->second.size() || tensor >= it->second[node].size()) return nullptr;
    return &it->second[node][tensor];
  }

  bool make_call(const Pending& call) {
    const Layer& layer = layers_.at(call.layer);
    const CallSignature signature = layer.definition()->call_signature();
    // Without names, tensors of a call() that takes several belong to its arguments in their order.
    const bool named =
        !signature.tensors.empty() && (signature.takes_list || call.inputs.size() < 2);
    std::vector<KerasTensor> inputs;
    CallOptions options;
    // A tensor or a list of them. Returns whether all have been made.
    const auto add = [&](const std::string& argument, const Json& references) {
      const bool one = !references.empty() && references[0].is_string();
      for (const Json& reference : one ? Json::array({references}) : references) {
        const KerasTensor* const input = find(reference);
        if (input == nullptr) return false;
        inputs.push_back(*input);
        if (named) options.arguments.inputs.push_back(argument);
      }
      return true;
    };
    if (!add(named ? signature.tensors[0] : "", call.inputs)) return false;
    const Json arguments =
        call.inputs.empty() || call.inputs[0].size() <= 3 || !call.inputs[0][3].is_object()
            ? Json::object()
            : call.inputs[0][3];
    if (arguments.value("training", Json()).is_boolean()) {
      options.training = arguments.at("training").get<bool>();
    }
    for (const std::string& name : signature.flags) {
      if (arguments.value(name, Json()).is_boolean()) {
        options.arguments.flags[name] = arguments.at(name).get<bool>();
      }
    }
    for (size_t i = 1; i < signature.tensors.size(); ++i) {
      const Json value = arguments.value(signature.tensors[i], Json());
      if (!value.is_null() && !add(signature.tensors[i], value)) return false;
    }
    results_[call.layer][call.node] = layer(inputs, options);
    return true;
  }

  KerasTensors ends(const char* key) const {
    std::vector<KerasTensor> tensors;
    const Json& references = config_.at(key);
    const bool one = !references.empty() && references[0].is_string();
    const Json list = one ? Json::array({references}) : references;
    for (const Json& reference : list) {
      const KerasTensor* const tensor = find(reference);
      if (tensor == nullptr) throw invalid_argument("model: {} {}", key, reference.dump());
      tensors.push_back(*tensor);
    }
    return tensors;
  }

  const Json& config_;
  std::map<std::string, size_t> first_calls_;  // of models
  std::map<std::string, Layer> layers_;
  std::map<std::string, std::vector<KerasTensors>> results_;
  std::vector<Pending> pending_;
};

// A call in inbound_nodes: references to the tensors of its first argument, each with the others.
Json call_to_json(const LayerCall& call, const std::function<Json(const KerasTensor&)>& reference) {
  const auto arguments = tensors_by_argument(call);
  Json others = Json::object();
  if (call.training) others["training"] = *call.training;
  for (const auto& [name, value] : call.arguments.flags) others[name] = value;
  for (size_t i = 1; i < arguments.size(); ++i) {
    const auto& [name, tensors] = arguments[i];
    Json list = Json::array();
    for (const KerasTensor& tensor : tensors) list.push_back(reference(tensor));
    others[name] = tensors.size() == 1 ? Json(list[0]) : std::move(list);
  }
  Json node = Json::array();
  for (const KerasTensor& input : arguments[0].second) {
    Json entry = reference(input);
    entry.push_back(others);
    node.push_back(std::move(entry));
  }
  return node;
}

}  // namespace

Layer layer_from_json(const Json& given) {
  const Json json = upgrade_layer_config(given);
  const std::string class_name = json.at("class_name").get<std::string>();
  if (is_model_class(class_name)) return model_from_config(json);
  return Layer(find_layer_class(class_name).from_config(json.at("config")));
}

Json layer_to_json(const LayerDefinition& layer) {
  return {{"class_name", layer.class_name()}, {"config", layer.config()}};
}

Json NetworkDefinition::config() const {
  const std::unordered_map<const LayerCall*, int> indices = node_indices(*this);
  const auto reference = [&](const KerasTensor& tensor) {
    return Json::array(
        {tensor.call()->layer->name(), indices.at(tensor.call().get()), tensor.index()});
  };
  Json list = Json::array();
  for (const Layer& layer : layers()) {
    std::map<int, Json> nodes;
    for (const auto& call : calls()) {
      if (call->layer != layer.definition() || call->inputs.empty()) continue;
      nodes[indices.at(call.get())] = call_to_json(*call, reference);
    }
    Json inbound = Json::array();
    for (auto& [index, node] : nodes) inbound.push_back(std::move(node));
    list.push_back({{"name", layer.name()},
                    {"class_name", layer.class_name()},
                    {"config", layer.get_config()},
                    {"inbound_nodes", std::move(inbound)}});
  }
  Json json = {{"name", name()}, {"layers", std::move(list)}};
  json["input_layers"] = Json::array();
  for (const KerasTensor& tensor : inputs()) json["input_layers"].push_back(reference(tensor));
  json["output_layers"] = Json::array();
  for (const KerasTensor& tensor : outputs()) json["output_layers"].push_back(reference(tensor));
  return json;
}

std::string Model::to_json() const {
  Json json = {{"class_name", class_name()}, {"config", get_config()}};
  json["keras_version"] = take_version_marks(json, kKerasVersion);
  json["backend"] = "tensorflow";
  return json.dump();
}

Model model_from_config(const Json& json) {
  try {
    const Json& config = json.at("config");
    if (!is_model_class(json.at("class_name").get<std::string>())) {
      throw not_found("Unknown model: {}, expected Sequential or Model",
                      json.at("class_name").dump());
    }
    if (json.at("class_name") == "Sequential") return sequential_from_config(config);
    if (!has_keras3_nodes(config)) return NetworkReader(config).read();
    const Json upgraded = with_keras2_nodes(config);
    return NetworkReader(upgraded).read();
  } catch (const nlohmann::json::exception& error) {
    throw invalid_argument("model: got a configuration that is not Keras's ({})", error.what());
  }
}

Model model_from_json(const std::string& text) {
  Json json = parse_model_json(text);
  if (json.is_object() && json.value("keras_version", Json()).is_string()) {
    const auto version = json["keras_version"].get<std::string>();
    apply_keras_version(json, version);
  }
  return model_from_config(json);
}

Json parse_model_json(const std::string& text) {
  const auto check_depth = [](int depth, Json::parse_event_t, Json&) {
    if (depth > kMaxJsonDepth) {
      throw invalid_argument("model_from_json: the text has more than {} levels", kMaxJsonDepth);
    }
    return true;
  };
  Json json = Json::parse(text, check_depth, /*allow_exceptions=*/false);
  if (json.is_discarded()) throw invalid_argument("model_from_json: the text is not JSON");
  return json;
}

}  // namespace systole::keras
