#include "systole/keras/files/layer_weights.h"

#include <fmt/format.h>

#include <functional>
#include <set>
#include <unordered_map>

#include "systole/keras/engine/network.h"
#include "systole/keras/layers/recurrent_layer.h"

namespace systole::keras {
namespace {

using WeightNames = std::unordered_map<const Weight*, std::string>;

bool is_recurrent_layer(const LayerDefinition& layer) {
  return dynamic_cast<const layers::RecurrentLayer*>(&layer) != nullptr;
}

bool is_model_layer(const LayerDefinition& layer) {
  return dynamic_cast<const ModelDefinition*>(&layer) != nullptr;
}

// Where `inner`, layer `index` of those inside, is.
std::string object_name(const LayerDefinition& layer, const LayerDefinition& inner, size_t index) {
  const std::string attribute = layer.attribute_of(inner);
  if (!attribute.empty()) return attribute;
  const std::string class_name = layer.class_name();
  if (is_recurrent_layer(layer)) return "cell";
  if (class_name == "Bidirectional") return index == 0 ? "forward_layer" : "backward_layer";
  if (class_name == "StackedRNNCells") return fmt::format("cells/{}", index);
  return index == 0 ? "layer" : fmt::format("layer-{}", index);
}

void name_objects(const LayerDefinition& layer, const std::string& prefix, WeightNames& names) {
  if (!is_recurrent_layer(layer)) {
    for (const WeightPtr& weight : layer.own_weights()) {
      names.emplace(weight.get(), prefix + weight->name());
    }
  }
  size_t index = 0;
  for (const auto& inner : layer.sublayers()) {
    if (is_model_layer(layer)) {
      if (h5_weights_of(*inner).empty()) continue;
      name_objects(*inner, fmt::format("{}layer_with_weights-{}/", prefix, index++), names);
    } else {
      name_objects(*inner, fmt::format("{}{}/", prefix, object_name(layer, *inner, index++)),
                   names);
    }
  }
}

std::vector<NamedWeight> in_order(const LayerDefinition& layer, const WeightNames& names) {
  std::vector<NamedWeight> all;
  std::set<const Weight*> seen;
  for (const WeightPtr& weight : layer.weights()) {
    const auto it = names.find(weight.get());
    if (it != names.end() && seen.insert(weight.get()).second) all.push_back({it->second, weight});
  }
  return all;
}

}  // namespace

std::vector<NamedWeight> h5_weights_of(const LayerDefinition& layer) {
  const std::vector<WeightPtr> states = layer.states();
  const std::vector<WeightPtr> weights = layer.weights();
  const std::vector<std::string> names = layer.weight_names();
  std::vector<NamedWeight> all;
  std::set<const Weight*> left_out;
  for (const WeightPtr& state : states) left_out.insert(state.get());
  for (size_t i = 0; i < weights.size(); ++i) {
    if (left_out.insert(weights[i].get()).second) all.push_back({names[i], weights[i]});
  }
  return all;
}

std::vector<NamedWeight> object_weights_of(const LayerDefinition& layer) {
  WeightNames names;
  name_objects(layer, "", names);
  return in_order(layer, names);
}

}  // namespace systole::keras
