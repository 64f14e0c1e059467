#include "systole/keras/models/serialization.h"

#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "systole/base/error.h"
#include "systole/keras/layer_class.h"

namespace systole::keras {
namespace {

constexpr const char* kKerasVersion = "2.1.6-tf";

// Keras numbers the calls of a layer within the model, in the order of the layer's calls.
std::unordered_map<const LayerCall*, int> node_indices(const NetworkDefinition& network) {
  std::unordered_map<const LayerDefinition*, std::vector<const LayerCall*>> calls;
  for (const auto& call : network.calls()) calls[call->layer.get()].push_back(call.get());
  std::unordered_map<const LayerCall*, int> indices;
  for (auto& [layer, of_layer] : calls) {
    std::ranges::sort(of_layer, {}, &LayerCall::node_index);
    for (size_t i = 0; i < of_layer.size(); ++i) indices[of_layer[i]] = static_cast<int>(i);
  }
  return indices;
}

Model sequential_from_config(const Json& config) {
  const bool list = config.is_array();  // Keras up to 2.2.2
  Sequential model({.name = list ? "" : config.value("name", "")});
  for (const Json& layer : list ? config : config.at("layers")) model.add(layer_from_json(layer));
  return model;
}

// Builds the calls of a functional model in an order in which their inputs exist.
class NetworkReader {
 public:
  explicit NetworkReader(const Json& config) : config_(config) {}

  Model read() {
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
  struct Pending {
    std::string layer;
    size_t node;
    Json inputs;
  };

  void read_layer(const Json& json) {
    const std::string name = json.at("name").get<std::string>();
    const Json inbound = json.value("inbound_nodes", Json(Json::array()));
    if (json.at("class_name") == "InputLayer") {
      const auto layer = find_layer_class("InputLayer").from_config(json.at("config"));
      const Shape& shape = layer->batch_input_shape().value();
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
    const auto node = reference.at(1).get<size_t>();
    const auto tensor = reference.at(2).get<size_t>();
    if (node >= it->second.size() || tensor >= it->second[node].size()) return nullptr;
    return &it->second[node][tensor];
  }

  bool make_call(const Pending& call) {
    std::vector<KerasTensor> inputs;
    for (const Json& reference : call.inputs) {
      const KerasTensor* const input = find(reference);
      if (input == nullptr) return false;
      inputs.push_back(*input);
    }
    results_[call.layer][call.node] = layers_.at(call.layer)(inputs);
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
  std::map<std::string, Layer> layers_;
  std::map<std::string, std::vector<KerasTensors>> results_;
  std::vector<Pending> pending_;
};

}  // namespace

Layer layer_from_json(const Json& json) {
  const std::string class_name = json.at("class_name").get<std::string>();
  if (class_name == "Sequential" || class_name == "Model") return model_from_config(json);
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
      Json node = Json::array();
      for (const KerasTensor& input : call->inputs) {
        Json entry = reference(input);
        entry.push_back(call->training ? Json{{"training", *call->training}} : Json::object());
        node.push_back(std::move(entry));
      }
      nodes[indices.at(call.get())] = std::move(node);
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
  return Json{{"class_name", class_name()},
              {"config", get_config()},
              {"keras_version", kKerasVersion},
              {"backend", "tensorflow"}}
      .dump();
}

Model model_from_config(const Json& json) {
  try {
    const Json& config = json.at("config");
    if (json.at("class_name") == "Sequential") return sequential_from_config(config);
    return NetworkReader(config).read();
  } catch (const nlohmann::json::exception& error) {
    throw invalid_argument("model: got a configuration that is not Keras's ({})", error.what());
  }
}

Model model_from_json(const std::string& text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) throw invalid_argument("model_from_json: the text is not JSON");
  return model_from_config(json);
}

}  // namespace systole::keras
