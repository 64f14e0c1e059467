#include "systole/keras/files/tf_weights.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "systole/base/error.h"
#include "systole/io/checkpoints/checkpoint_state.h"
#include "systole/io/checkpoints/tensor_bundle.h"
#include "systole/io/wire/varint.h"
#include "systole/io/wire/wire.h"
#include "systole/keras/files/layer_weights.h"

namespace systole::keras {
namespace {

constexpr const char* kGraphKey = "_CHECKPOINTABLE_OBJECT_GRAPH";
constexpr const char* kValueSuffix = "/.ATTRIBUTES/VARIABLE_VALUE";

std::string escaped(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c == '.') {
      text += "..";
    } else if (c == '/') {
      text += ".S";
    } else {
      text += c;
    }
  }
  return text;
}

std::vector<std::string> split_path(const std::string& path) {
  std::vector<std::string> parts;
  for (size_t at = 0;;) {
    const size_t end = path.find('/', at);
    parts.push_back(path.substr(at, end - at));
    if (end == std::string::npos) return parts;
    at = end + 1;
  }
}

// An object: a layer, or a variable with its key.
struct ObjectNode {
  std::vector<std::pair<std::string, size_t>> children;
  std::string full_name;
  std::string key;  // "" for an object that is no variable
};

// The graph of a model's objects, numbered breadth-first as TensorFlow does.
class ObjectGraph {
 public:
  ObjectGraph() : nodes_(1) {}

  // Adds the object at `path`, with those before it.
  size_t add(const std::vector<std::string>& path) {
    size_t at = 0;
    for (const std::string& name : path) {
      const auto& children = nodes_[at].children;
      const auto it = std::ranges::find(children, name, &std::pair<std::string, size_t>::first);
      if (it != children.end()) {
        at = it->second;
        continue;
      }
      const size_t made = nodes_.size();
      nodes_[at].children.emplace_back(name, made);
      nodes_.emplace_back();
      at = made;
    }
    return at;
  }
  void link(size_t from, const std::string& name, size_t to) {
    nodes_[from].children.emplace_back(name, to);
  }
  ObjectNode& node(size_t id) { return nodes_.at(id); }

  // The object at `path`, or nullptr.
  const ObjectNode* find(const std::vector<std::string>& path) const {
    size_t at = 0;
    for (const std::string& name : path) {
      const auto& children = nodes_[at].children;
      const auto it = std::ranges::find(children, name, &std::pair<std::string, size_t>::first);
      if (it == children.end() || it->second >= nodes_.size()) return nullptr;
      at = it->second;
    }
    return &nodes_[at];
  }

  std::string serialized() const {
    std::vector<size_t> order = breadth_first();
    std::vector<size_t> number(nodes_.size());
    for (size_t i = 0; i < order.size(); ++i) number[order[i]] = i;
    std::string message;
    for (const size_t id : order) wire::append_bytes(message, 1, node_message(nodes_[id], number));
    return message;
  }

  static ObjectGraph parse(std::string_view message) {
    ObjectGraph graph;
    graph.nodes_.clear();
    for (wire::Reader fields(message); fields.next();) {
      if (fields.is(1, wire::Type::bytes)) {
        graph.nodes_.push_back(parse_node(fields.bytes()));
      } else {
        fields.skip();
      }
    }
    if (graph.nodes_.empty()) graph.nodes_.emplace_back();
    return graph;
  }

 private:
  std::vector<size_t> breadth_first() const {
    std::vector<size_t> order = {0};
    std::vector<bool> seen(nodes_.size());
    seen[0] = true;
    for (size_t i = 0; i < order.size(); ++i) {
      for (const auto& [name, child] : nodes_[order[i]].children) {
        if (seen[child]) continue;
        seen[child] = true;
        order.push_back(child);
      }
    }
    return order;
  }

  static std::string node_message(const ObjectNode& node, const std::vector<size_t>& number) {
    std::string message;
    for (const auto& [name, child] : node.children) {
      std::string reference;
      if (number[child] != 0) {
        append_varint64(reference, 1U << 3U);
        append_varint64(reference, number[child]);
      }
      wire::append_bytes(reference, 2, name);
      wire::append_bytes(message, 1, reference);
    }
    if (!node.key.empty()) {
      std::string attribute;
      wire::append_bytes(attribute, 1, "VARIABLE_VALUE");
      wire::append_bytes(attribute, 2, node.full_name);
      wire::append_bytes(attribute, 3, node.key);
      wire::append_bytes(message, 2, attribute);
    }
    return message;
  }

  static ObjectNode parse_node(std::string_view message) {
    ObjectNode node;
    for (wire::Reader fields(message); fields.next();) {
      if (fields.is(1, wire::Type::bytes)) {
        std::pair<std::string, size_t> child;
        for (wire::Reader part(fields.bytes()); part.next();) {
          if (part.is(1, wire::Type::varint)) {
            child.second = part.varint();
          } else if (part.is(2, wire::Type::bytes)) {
            child.first = part.bytes();
          } else {
            part.skip();
          }
        }
        node.children.push_back(std::move(child));
      } else if (fields.is(2, wire::Type::bytes)) {
        parse_attribute(fields.bytes(), node);
      } else {
        fields.skip();
      }
    }
    return node;
  }

  static void parse_attribute(std::string_view message, ObjectNode& node) {
    std::string name;
    std::string key;
    for (wire::Reader fields(message); fields.next();) {
      if (fields.is(1, wire::Type::bytes)) {
        name = fields.bytes();
      } else if (fields.is(3, wire::Type::bytes)) {
        key = fields.bytes();
      } else {
        fields.skip();
      }
    }
    if (name == "VARIABLE_VALUE") node.key = std::move(key);
  }

  std::vector<ObjectNode> nodes_;
};

std::string key_of(const std::vector<std::string>& path) {
  std::vector<std::string> parts;
  for (const std::string& name : path) parts.push_back(escaped(name));
  return fmt::format("{}{}", fmt::join(parts, "/"), kValueSuffix);
}

// The path that TensorFlow 1.12, and so older files of this library, have in its place: the cells
// of StackedRNNCells were "cell-0", "cell-1".
std::vector<std::string> older_path(const std::vector<std::string>& path) {
  std::vector<std::string> older;
  for (size_t i = 0; i < path.size(); ++i) {
    if (path[i] == "cells" && i + 1 < path.size()) {
      older.push_back("cell-" + path[++i]);
    } else {
      older.push_back(path[i]);
    }
  }
  return older;
}

// The key of a weight; "" where there is none.
std::string find_key(const BundleReader& bundle, const ObjectGraph* graph,
                     const std::vector<std::string>& path) {
  for (const auto& tried : {path, older_path(path)}) {
    const ObjectNode* const node = graph != nullptr ? graph->find(tried) : nullptr;
    const std::string key = graph == nullptr ? key_of(tried) : (node != nullptr ? node->key : "");
    if (!key.empty() && bundle.contains(key)) return key;
  }
  return "";
}

// Names of layers also count all layers: "layer-2" beside "layer_with_weights-1".
void link_all_layers(ObjectGraph& graph, const ModelDefinition& model) {
  size_t index = 0;
  size_t with_weights = 0;
  for (const Layer& layer : model.layers()) {
    const bool weights = !h5_weights_of(*layer.definition()).empty();
    const std::string name = fmt::format("layer-{}", index++);
    if (weights) {
      const size_t id = graph.add({fmt::format("layer_with_weights-{}", with_weights++)});
      graph.link(0, name, id);
    } else {
      graph.add({name});
    }
  }
}

ObjectGraph read_graph(const BundleReader& bundle) {
  const Tensor value = bundle.read(kGraphKey);
  if (value.dtype() != DType::string || value.num_elements() != 1) {
    throw make_error(Code::data_loss, "{}: '{}', got {}, expected a message", bundle.prefix(),
                     kGraphKey, value.type());
  }
  try {
    return ObjectGraph::parse(value.data<std::string>()[0]);
  } catch (const Error& error) {
    throw make_error(Code::data_loss, "{}: '{}': {}", bundle.prefix(), kGraphKey, error.message());
  }
}

}  // namespace

void write_tf_weights(FileSystem& file_system, const std::string& prefix,
                      const ModelDefinition& model) {
  ObjectGraph graph;
  link_all_layers(graph, model);
  const std::vector<NamedWeight> weights = object_weights_of(model);
  const std::vector<NamedWeight> names = h5_weights_of(model);
  std::vector<WeightPtr> pointers;
  for (const NamedWeight& named : weights) pointers.push_back(named.weight);
  initialize(pointers);
  BundleWriter bundle(file_system, prefix);
  for (size_t i = 0; i < weights.size(); ++i) {
    const std::vector<std::string> path = split_path(weights[i].name);
    ObjectNode& node = graph.node(graph.add(path));
    node.key = key_of(path);
    node.full_name = names[i].name.substr(0, names[i].name.rfind(':'));
    bundle.add(node.key, weights[i].weight->value());
  }
  bundle.add(kGraphKey, Tensor(graph.serialized()));
  bundle.finish();
  const std::string name = base_name(prefix);
  CheckpointState state;
  state.model_checkpoint_path = name;
  state.all_model_checkpoint_paths = {name};
  write_checkpoint_state(file_system, parent_path(prefix), state);
}

LoadReport read_tf_weights(FileSystem& file_system, const std::string& prefix,
                           const ModelDefinition& model) {
  const BundleReader bundle(file_system, prefix);
  const bool has_graph = bundle.contains(kGraphKey);
  const ObjectGraph graph = has_graph ? read_graph(bundle) : ObjectGraph();
  LoadReport report;
  std::set<std::string> used;
  std::vector<std::pair<WeightPtr, Tensor>> plan;
  const std::vector<NamedWeight> names = h5_weights_of(model);
  const std::vector<NamedWeight> weights = object_weights_of(model);
  for (size_t i = 0; i < weights.size(); ++i) {
    const std::vector<std::string> path = split_path(weights[i].name);
    const std::string key = find_key(bundle, has_graph ? &graph : nullptr, path);
    if (key.empty()) {
      throw invalid_argument(
          "{}: no object '{}' for weight '{}' of the model, expected a checkpoint of weights of "
          "this "
          "model; it has {}",
          prefix, weights[i].name, names[i].name, fmt::join(bundle.keys(), ", "));
    }
    const TensorType& wanted = weights[i].weight->type();
    const Tensor value = bundle.read(key);
    if (value.shape() != wanted.shape || value.dtype() == DType::string) {
      throw invalid_argument("{}: '{}', got {}, expected {} for weight '{}'", prefix, key,
                             value.type(), wanted, names[i].name);
    }
    used.insert(key);
    plan.emplace_back(weights[i].weight, value.cast(wanted.dtype));
  }
  for (const std::string& key : bundle.keys()) {
    if (key != kGraphKey && !used.contains(key)) report.skipped.push_back(key);
  }
  for (auto& [weight, value] : plan) weight->set_value(std::move(value));
  for (const Layer& layer : model.layers()) {
    if (!h5_weights_of(*layer.definition()).empty()) report.loaded.push_back(layer.name());
  }
  return report;
}

}  // namespace systole::keras
