#include "systole/keras/models/keras3_nodes.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include "systole/base/error.h"
#include "systole/keras/engine/layer_class.h"

namespace systole::keras {
namespace {

constexpr const char* kKerasTensor = "__keras_tensor__";

class NodeConverter {
 public:
  explicit NodeConverter(const Json& config) : config_(config) {
    for (const Json& layer : config_.at("layers")) {
      const std::string class_name = layer.at("class_name").get<std::string>();
      const std::string name = layer.at("name").get<std::string>();
      if (class_name == "Sequential") sequentials_.insert(name);
      if (class_name == "Functional" || class_name == "Model") networks_.insert(name);
      if (is_op(layer)) ops_.insert(name);
    }
  }

  Json convert() {
    Json& layers = config_["layers"];
    for (Json& layer : layers) {
      if (is_op(layer)) continue;  // of masks, which are dropped below, or not known here
      Json nodes = Json::array();
      for (const Json& node : layer.value("inbound_nodes", Json(Json::array()))) {
        nodes.push_back(node.is_object() ? converted(node, signature_of(layer)) : node);
      }
      layer["inbound_nodes"] = std::move(nodes);
    }
    for (const char* key : {"input_layers", "output_layers"}) {
      Json& ends = config_.at(key);
      if (is_reference(ends)) ends = Json::array({ends});
      for (Json& end : ends) {
        if (!is_reference(end)) {
          throw unimplemented("model: {}, got {}, expected a list of tensors", key, end.dump());
        }
        if (sequentials_.contains(end[0].get<std::string>())) end[1] = end[1].get<int>() + 1;
        read_.insert(end[0].get<std::string>());
      }
    }
    // Ops that make masks.
    auto& list = layers.get_ref<Json::array_t&>();
    std::erase_if(list, [&](const Json& layer) {
      return is_op(layer) && !read_.contains(layer["name"].get<std::string>());
    });
    return std::move(config_);
  }

 private:
  static bool is_op(const Json& layer) {
    const Json module = layer.value("module", Json());
    return module.is_string() && module.get<std::string>().starts_with("keras.src.ops");
  }

  static bool is_reference(const Json& json) {
    return json.is_array() && json.size() >= 3 && json[0].is_string();
  }

  // Appends the tensors in `json`, a tensor or nested lists of them.
  void add_tensors(const Json& json, const Json& arguments, Json& node) {
    if (json.is_array()) {
      for (const Json& item : json) add_tensors(item, arguments, node);
      return;
    }
    if (!json.is_object()) return;
    if (json.value("class_name", "") != kKerasTensor) {
      throw unimplemented("model: inbound_nodes, got {}, expected tensors or lists of them",
                          json.dump());
    }
    Json reference = json.at("config").at("keras_history");
    const auto name = reference.at(0).get<std::string>();
    if (sequentials_.contains(name) || networks_.contains(name)) {
      reference[1] = reference.at(1).get<int>() + 1;
    }
    read_.insert(name);
    reference.push_back(arguments);
    node.push_back(std::move(reference));
  }

  static CallSignature signature_of(const Json& layer) {
    try {
      return find_layer_class(layer.at("class_name").get<std::string>()).call;
    } catch (const Error&) {
      return {};  // a model, or a class that reading the layer refuses
    }
  }

  // Whether the tensors are masks that Keras computes, not arguments of the program.
  bool is_made_by_op(const Json& value) const {
    if (value.is_array()) {
      return std::ranges::any_of(value, [&](const Json& item) { return is_made_by_op(item); });
    }
    if (!value.is_object() || value.value("class_name", "") != kKerasTensor) return false;
    return ops_.contains(value.at("config").at("keras_history").at(0).get<std::string>());
  }

  // The call of a layer that takes several tensors, by name.
  Json converted_by_name(const Json& call, const CallSignature& signature) {
    const Json& args = call.at("args");
    Json values = call.value("kwargs", Json(Json::object()));
    if (args.size() > signature.tensors.size()) {
      throw unimplemented("model: inbound_nodes, got {} arguments by position, expected at most {}",
                          args.size(), signature.tensors.size());
    }
    for (size_t i = 0; i < args.size(); ++i) values[signature.tensors[i]] = args[i];
    Json arguments = Json::object();
    for (const std::string& name : signature.flags) {
      if (values.value(name, Json()).is_boolean()) arguments[name] = values[name];
    }
    if (values.value("training", Json()).is_boolean()) arguments["training"] = values["training"];
    for (size_t i = 1; i < signature.tensors.size(); ++i) {
      const Json value = values.value(signature.tensors[i], Json());
      if (value.is_null() || is_made_by_op(value)) continue;
      if (value.is_array() && std::ranges::any_of(value, &Json::is_null)) {
        throw unimplemented("model: inbound_nodes, got '{}' for some of the tensors, expected all",
                            signature.tensors[i]);
      }
      Json references = Json::array();
      add_tensors(value, nullptr, references);
      if (!references.empty()) arguments[signature.tensors[i]] = std::move(references);
    }
    Json node = Json::array();
    add_tensors(values.at(signature.tensors[0]), arguments, node);
    return node;
  }

  Json converted(const Json& call, const CallSignature& signature) {
    if (!signature.tensors.empty()) return converted_by_name(call, signature);
    const Json kwargs = call.value("kwargs", Json(Json::object()));
    Json arguments = Json::object();
    if (kwargs.value("training", Json()).is_boolean()) arguments["training"] = kwargs["training"];
    Json node = Json::array();
    add_tensors(call.at("args"), arguments, node);
    for (const auto& [key, value] : kwargs.items()) {
      if (key == "mask" || key == "training") continue;
      if (key == "initial_state" || key == "inputs" || key == "sequences") {
        add_tensors(value, arguments, node);
      } else if (!value.is_null()) {
        throw unimplemented("model: inbound_nodes, got an argument '{}', expected initial_state",
                            key);
      }
    }
    return node;
  }

  Json config_;
  std::set<std::string> sequentials_;
  std::set<std::string> networks_;
  std::set<std::string> ops_;
  std::set<std::string> read_;  // layers whose outputs others take
};

}  // namespace

bool has_keras3_nodes(const Json& config) {
  if (!config.is_object() || !config.contains("layers")) return false;
  for (const Json& layer : config["layers"]) {
    if (!layer.is_object() || !layer.contains("inbound_nodes")) continue;
    for (const Json& node : layer["inbound_nodes"]) {
      if (node.is_object()) return true;
    }
  }
  return false;
}

Json with_keras2_nodes(const Json& config) { return NodeConverter(config).convert(); }

Json keras3_tensor(const KerasTensor& tensor, int node) {
  return {{"class_name", kKerasTensor},
          {"config",
           {{"shape", shape_to_json(tensor.shape())},
            {"dtype", std::string(dtype_info(tensor.dtype()).tf_name)},
            {"keras_history", Json::array({tensor.call()->layer->name(), node, tensor.index()})}}}};
}

}  // namespace systole::keras
