#include "systole/keras/files/stored_weights.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "systole/base/error.h"
#include "systole/keras/engine/network.h"
#include "systole/keras/files/layer_weights.h"

namespace systole::keras {
namespace {

struct Assignment {
  WeightPtr weight;
  Tensor value;
};

// A layer's argument `data_format`, "" where it has none.
std::string data_format_of(const LayerDefinition& layer) {
  try {
    const Json config = layer.config();
    const auto it = config.find("data_format");
    return it != config.end() && it->is_string() ? it->get<std::string>() : "";
  } catch (const Error&) {  // a layer that cannot be saved
    return "";
  }
}

std::vector<Tensor> converted(const LayerDefinition& layer, const ConversionSource& source,
                              std::vector<Tensor> arrays);

// The arrays of layers one after the other: `count` says how many are a layer's.
std::vector<Tensor> converted_parts(const std::vector<std::shared_ptr<LayerDefinition>>& parts,
                                    const ConversionSource& source,
                                    const std::vector<Tensor>& arrays,
                                    const std::function<size_t(const LayerDefinition&)>& count) {
  std::vector<Tensor> all;
  size_t at = 0;
  for (const auto& part : parts) {
    const size_t end = std::min(arrays.size(), at + count(*part));
    for (Tensor& array : converted(*part, source,
                                   {arrays.begin() + static_cast<std::ptrdiff_t>(at),
                                    arrays.begin() + static_cast<std::ptrdiff_t>(end)})) {
      all.push_back(std::move(array));
    }
    at = end;
  }
  all.insert(all.end(), arrays.begin() + static_cast<std::ptrdiff_t>(at), arrays.end());
  return all;
}

std::vector<Tensor> converted(const LayerDefinition& layer, const ConversionSource& source,
                              std::vector<Tensor> arrays) {
  const std::string class_name = layer.class_name();
  if (class_name == "Bidirectional") {
    return converted_parts(layer.sublayers(), source, arrays,
                           [half = arrays.size() / 2](const LayerDefinition&) { return half; });
  }
  if (class_name == "TimeDistributed") {
    return converted_parts(layer.sublayers(), source, arrays,
                           [all = arrays.size()](const LayerDefinition&) { return all; });
  }
  if (dynamic_cast<const ModelDefinition*>(&layer) != nullptr) {
    // The trainable arrays of all layers come first; only these need conversions.
    return converted_parts(layer.sublayers(), source, arrays, [](const LayerDefinition& inner) {
      return inner.trainable_weights().size();
    });
  }
  ConversionTarget target{.class_name = class_name, .data_format = data_format_of(layer)};
  for (const NamedWeight& named : h5_weights_of(layer)) {
    target.shapes.push_back(named.weight->shape());
  }
  return convert_weights(target, source, std::move(arrays));
}

// The arrays of `from` in the order of `weights`, where the same names come in another order:
// layers of a nested model were frozen when it was saved, or are now. Trainable weights come first.
std::vector<Tensor> in_order_of(const std::vector<NamedWeight>& weights, const StoredLayer& from) {
  std::map<std::string, size_t> index;
  for (size_t i = 0; i < from.weight_names.size(); ++i) index.emplace(from.weight_names[i], i);
  if (index.size() != weights.size() || from.values.size() != weights.size()) return from.values;
  std::vector<Tensor> sorted;
  for (const NamedWeight& named : weights) {
    const auto it = index.find(named.name);
    if (it == index.end()) return from.values;
    sorted.push_back(from.values[it->second]);
  }
  return sorted;
}

std::vector<Assignment> assignments(const Layer& layer, size_t index, const StoredWeights& stored,
                                    const StoredLayer& from) {
  const std::vector<NamedWeight> weights = h5_weights_of(*layer.definition());
  std::vector<Tensor> arrays;
  try {
    arrays = converted(*layer.definition(), stored.source, in_order_of(weights, from));
  } catch (const Error& error) {
    throw invalid_argument("{}: layer '{}': {}", stored.file, layer.name(), error.message());
  }
  if (arrays.size() != weights.size()) {
    throw invalid_argument(
        "{}: Layer #{} (named \"{}\" in the current model) was found to correspond to layer {} in "
        "the save file. However the new layer {} expects {} weights, but the saved weights have {} "
        "elements.",
        stored.file, index, layer.name(), from.name, layer.name(), weights.size(), arrays.size());
  }
  std::vector<Assignment> made;
  for (size_t i = 0; i < arrays.size(); ++i) {
    const TensorType& wanted = weights[i].weight->type();
    if (arrays[i].shape() != wanted.shape || arrays[i].dtype() == DType::string) {
      throw invalid_argument(
          "{}: Layer #{} (named \"{}\" in the current model): weight '{}', got {} from layer {} of "
          "the save file, expected {}",
          stored.file, index, layer.name(), weights[i].name, arrays[i].type(), from.name, wanted);
    }
    made.push_back({weights[i].weight, arrays[i].cast(wanted.dtype)});
  }
  return made;
}

std::string layer_list(const std::vector<std::string>& names) {
  return names.empty() ? "" : fmt::format(": {}", fmt::join(names, ", "));
}

// The plan of a load, carried out at once when all of it is known to fit.
class LoadPlan {
 public:
  void add(const Layer& layer, std::vector<Assignment> of_layer) {
    report.loaded.push_back(layer.name());
    for (Assignment& one : of_layer) all_.push_back(std::move(one));
  }

  LoadReport carry_out() {
    for (Assignment& one : all_) one.weight->set_value(std::move(one.value));
    return std::move(report);
  }

  LoadReport report;

 private:
  std::vector<Assignment> all_;
};

LoadReport load_in_order(const std::vector<Layer>& layers, const StoredWeights& stored) {
  std::vector<Layer> with_weights;
  for (const Layer& layer : layers) {
    if (!h5_weights_of(*layer.definition()).empty()) with_weights.push_back(layer);
  }
  std::vector<const StoredLayer*> saved;
  LoadPlan plan;
  for (const StoredLayer& layer : stored.layers) {
    if (layer.values.empty()) continue;
    saved.push_back(&layer);
  }
  if (saved.size() != with_weights.size()) {
    throw invalid_argument(
        "{}: You are trying to load a weight file containing {} layers into a model with {} "
        "layers.{}",
        stored.file, saved.size(), with_weights.size(),
        with_weights.empty() ? " The model has no weights yet: give its input shape, or call it on "
                               "data first."
                             : "");
  }
  for (size_t i = 0; i < saved.size(); ++i) {
    plan.add(with_weights[i], assignments(with_weights[i], i, stored, *saved[i]));
  }
  return plan.carry_out();
}

LoadReport load_by_name(const std::vector<Layer>& layers, const StoredWeights& stored,
                        bool skip_mismatch) {
  std::map<std::string, const StoredLayer*> saved;
  for (const StoredLayer& layer : stored.layers) saved.emplace(layer.name, &layer);
  LoadPlan plan;
  std::map<std::string, std::string> reasons;  // of stored layers that were not used
  for (size_t i = 0; i < layers.size(); ++i) {
    const Layer& layer = layers[i];
    const bool has_weights = !h5_weights_of(*layer.definition()).empty();
    const auto it = saved.find(layer.name());
    if (it == saved.end() || (it->second->values.empty() && has_weights)) {
      if (has_weights) plan.report.missing.push_back(layer.name());
      continue;
    }
    const StoredLayer& from = *it->second;
    try {
      std::vector<Assignment> of_layer = assignments(layer, i, stored, from);
      if (has_weights) plan.add(layer, std::move(of_layer));
      reasons.emplace(from.name, "");
    } catch (const Error& error) {
      if (!skip_mismatch) throw;
      reasons.emplace(from.name, error.message());
      plan.report.missing.push_back(layer.name());
    }
  }
  for (const StoredLayer& layer : stored.layers) {
    const auto it = reasons.find(layer.name);
    if (layer.values.empty() || (it != reasons.end() && it->second.empty())) continue;
    plan.report.skipped.push_back(fmt::format(
        "{} ({})", layer.name, it == reasons.end() ? "no layer of this name" : it->second));
  }
  return plan.carry_out();
}

}  // namespace

std::string LoadReport::to_string() const {
  return fmt::format("loaded {} layers{}; skipped {}{}; missing {}{}", loaded.size(),
                     layer_list(loaded), skipped.size(), layer_list(skipped), missing.size(),
                     layer_list(missing));
}

LoadReport load_stored_weights(const std::vector<Layer>& layers, const StoredWeights& stored,
                               const LoadWeightsOptions& options) {
  if (options.skip_mismatch && !options.by_name) {
    throw invalid_argument(
        "When calling model.load_weights, skip_mismatch can only be set to True when by_name is "
        "True.");
  }
  return options.by_name ? load_by_name(layers, stored, options.skip_mismatch)
                         : load_in_order(layers, stored);
}

}  // namespace systole::keras
