#include "systole/keras/files/keras3_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "systole/base/error.h"
#include "systole/keras/engine/network.h"
#include "systole/keras/layers/recurrent_layer.h"

namespace systole::keras {
namespace {

constexpr const char* kLayers = "layers";
constexpr const char* kOldLayers = "_layer_checkpoint_dependencies";
constexpr const char* kOptimizerVars = "optimizer/vars";

// The name of a class in paths.
std::string path_name(const LayerDefinition& layer) {
  const std::string class_name = layer.class_name();
  return class_name == "Model" ? "functional" : snake_case(class_name);
}

// Names of objects of a list: "dense", "dense_1".
class ContainerNames {
 public:
  std::string next(const LayerDefinition& layer) {
    const std::string name = path_name(layer);
    const int count = counts_[name]++;
    return count == 0 ? name : fmt::format("{}_{}", name, count);
  }

 private:
  std::map<std::string, int> counts_;
};

// Calls `visit(layer, path)` for a layer and all that it contains, once each.
class Keras3Walk {
 public:
  using Visit = std::function<void(const LayerDefinition& layer, const std::string& path)>;
  Keras3Walk(std::string layers, Visit visit)
      : layers_(std::move(layers)), visit_(std::move(visit)) {}

  // `config`: of a model, or null.
  void walk(const LayerDefinition& layer, const std::string& path, const Json& config) {
    if (!seen_.insert(&layer).second) return;
    visit_(layer, path);
    if (const auto* const model = dynamic_cast<const ModelDefinition*>(&layer)) {
      walk_model(*model, path, config);
      return;
    }
    const std::string class_name = layer.class_name();
    size_t index = 0;
    ContainerNames cells;
    for (const auto& inner : layer.sublayers()) {
      std::string name = index == 0 ? "layer" : fmt::format("layer_{}", index);
      if (dynamic_cast<const layers::RecurrentLayer*>(&layer) != nullptr) name = "cell";
      if (class_name == "Bidirectional") name = index == 0 ? "forward_layer" : "backward_layer";
      if (class_name == "StackedRNNCells") name = "cells/" + cells.next(*inner);
      if (const std::string attribute = layer.attribute_of(*inner); !attribute.empty())
        name = attribute.substr(attribute.find_first_not_of('_'));
      walk(*inner, below(path, name), nullptr);
      ++index;
    }
  }

 private:
  static std::string below(const std::string& path, const std::string& name) {
    return path.empty() ? name : path + "/" + name;
  }

  void walk_model(const ModelDefinition& model, const std::string& path, const Json& config) {
    const std::vector<Layer> all = model.layers();
    std::vector<std::pair<const LayerDefinition*, Json>> ordered;
    std::set<std::string> listed;
    if (config.is_object() && config.contains("layers")) {
      for (const Json& layer : config["layers"]) {
        const Json inner = layer.value("config", Json());
        const std::string name = inner.is_object() ? inner.value("name", "") : "";
        const auto it = std::ranges::find(all, name, &Layer::name);
        if (it == all.end()) continue;
        listed.insert(name);
        ordered.emplace_back(it->definition().get(), inner);
      }
    }
    for (const Layer& layer : all) {
      if (!listed.contains(layer.name())) ordered.emplace_back(layer.definition().get(), nullptr);
    }
    ContainerNames names;
    for (const auto& [layer, inner] : ordered) {
      walk(*layer, below(path, layers_ + "/" + names.next(*layer)), inner);
    }
  }

  std::string layers_;
  Visit visit_;
  std::set<const LayerDefinition*> seen_;
};

// A layer's own weights as Keras 3 numbers them, without the states of stateful layers.
std::vector<WeightPtr> numbered_weights(const LayerDefinition& layer) {
  if (dynamic_cast<const layers::RecurrentLayer*>(&layer) != nullptr) return {};
  std::vector<WeightPtr> weights = layer.own_weights();
  std::ranges::stable_partition(weights, [](const WeightPtr& w) { return w->trainable(); });
  return weights;
}

std::string vars_path(const std::string& path) { return path.empty() ? "vars" : path + "/vars"; }

// Where the file has what is at `path` in Keras 3's files: up to TensorFlow 2.15 attributes of
// layers have private names, "_query_dense".
std::string path_in(const Hdf5Reader& file, const std::string& path) {
  const size_t last = path.rfind('/');
  if (last == std::string::npos || file.contains(path)) return path;
  std::string hidden = path;
  hidden.insert(last + 1, "_");
  return file.contains(hidden) ? hidden : path;
}

struct NumberedAssignment {
  WeightPtr weight;
  Tensor value;
};

void add_assignments(const Hdf5Reader& file, const LayerDefinition& layer, const std::string& path,
                     std::vector<NumberedAssignment>& all, LoadReport& report) {
  const std::vector<WeightPtr> weights = numbered_weights(layer);
  if (weights.empty()) return;
  const std::string vars = vars_path(path_in(file, path));
  const size_t stored = file.contains(vars) ? file.children(vars).size() : 0;
  if (stored != weights.size()) {
    throw invalid_argument("{}: layer '{}' at '{}', got {} weights in the file, expected {}",
                           file.name(), layer.name(), path, stored, weights.size());
  }
  for (size_t i = 0; i < weights.size(); ++i) {
    const Tensor value = file.read(fmt::format("{}/{}", vars, i));
    const TensorType& wanted = weights[i]->type();
    if (value.shape() != wanted.shape || value.dtype() == DType::string) {
      throw invalid_argument("{}: layer '{}' at '{}': weight '{}', got {}, expected {}",
                             file.name(), layer.name(), path, weights[i]->name(), value.type(),
                             wanted);
    }
    all.push_back({weights[i], value.cast(wanted.dtype)});
  }
  report.loaded.push_back(layer.name());
}

}  // namespace

bool has_keras3_weights(const Hdf5Reader& file) {
  if (file.has_attribute("", "layer_names") || file.has_attribute("", "layer_names0")) return false;
  return file.contains(kLayers) || file.contains(kOldLayers) || file.contains("vars");
}

void write_keras3_weights(Hdf5Writer& file, const Model& model) {
  const std::vector<WeightPtr> weights = model.definition()->weights();
  initialize(weights);
  Keras3Walk walk(kLayers, [&](const LayerDefinition& layer, const std::string& path) {
    const std::string vars = vars_path(path);
    file.add_group(vars);
    file.set_string(vars, "name", layer.name());
    size_t number = 0;
    for (const WeightPtr& weight : numbered_weights(layer)) {
      file.add_array(fmt::format("{}/{}", vars, number++), weight->value());
    }
  });
  walk.walk(*model.definition(), "", nullptr);
}

LoadReport read_keras3_weights(const Hdf5Reader& file, const Model& model, const Json& config) {
  LoadReport report;
  std::vector<NumberedAssignment> all;
  const bool old = !file.contains(kLayers) && file.contains(kOldLayers);
  Keras3Walk walk(old ? kOldLayers : kLayers,
                  [&](const LayerDefinition& layer, const std::string& path) {
                    add_assignments(file, layer, path, all, report);
                  });
  walk.walk(*model.definition(), "", config);
  for (NumberedAssignment& one : all) one.weight->set_value(std::move(one.value));
  return report;
}

std::vector<Tensor> read_keras3_optimizer(const Hdf5Reader& file) {
  std::vector<Tensor> values;
  if (!file.contains(kOptimizerVars)) return values;
  const size_t count = file.children(kOptimizerVars).size();
  for (size_t i = 0; i < count; ++i) {
    values.push_back(file.read(fmt::format("{}/{}", kOptimizerVars, i)));
  }
  return values;
}

void write_keras3_optimizer(Hdf5Writer& file, const std::vector<Tensor>& values) {
  if (values.empty()) return;
  for (size_t i = 0; i < values.size(); ++i) {
    file.add_array(fmt::format("{}/{}", kOptimizerVars, i), values[i]);
  }
}

}  // namespace systole::keras
