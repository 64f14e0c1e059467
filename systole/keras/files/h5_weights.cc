#include "systole/keras/files/h5_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "systole/base/error.h"
#include "systole/keras/files/layer_weights.h"
#include "systole/keras/models/serialization.h"

namespace systole::keras {
namespace {

size_t padded_size(std::span<const std::string> texts) {
  size_t longest = 1;
  for (const std::string& text : texts) longest = std::max(longest, text.size());
  return longest * texts.size();
}

// Part `i` of `parts`, as numpy.array_split: the first ones have one more.
std::span<const std::string> part_of(std::span<const std::string> texts, size_t parts, size_t i) {
  const size_t each = texts.size() / parts;
  const size_t larger = texts.size() % parts;
  return texts.subspan(i * each + std::min(i, larger), each + (i < larger ? 1 : 0));
}

std::string text_or(const Hdf5Reader& file, const std::string& object, const char* name,
                    const std::string& otherwise) {
  return file.has_attribute(object, name) ? file.string(object, name) : otherwise;
}

std::string below(const std::string& group, const std::string& name) {
  return group.empty() ? name : group + "/" + name;
}

}  // namespace

void write_h5_names(Hdf5Writer& file, const std::string& object, const std::string& name,
                    std::span<const std::string> texts) {
  constexpr size_t kMax = Hdf5Writer::kMaxAttributeBytes;
  for (const std::string& text : texts) {
    if (text.size() > kMax) {
      throw invalid_argument("'{}' of '{}': a name of {} bytes, expected at most {}", name, object,
                             text.size(), kMax);
    }
  }
  size_t parts = 1;
  const auto fits = [&] {
    for (size_t i = 0; i < parts; ++i) {
      if (padded_size(part_of(texts, parts, i)) > kMax) return false;
    }
    return true;
  };
  while (!fits()) ++parts;
  if (parts == 1) {
    file.set_strings(object, name, texts);
    return;
  }
  for (size_t i = 0; i < parts; ++i) {
    file.set_strings(object, fmt::format("{}{}", name, i), part_of(texts, parts, i));
  }
}

std::vector<std::string> read_h5_names(const Hdf5Reader& file, const std::string& object,
                                       const std::string& name) {
  if (file.has_attribute(object, name)) return file.strings(object, name);
  std::vector<std::string> all;
  for (size_t i = 0;; ++i) {
    const std::string part = fmt::format("{}{}", name, i);
    if (!file.has_attribute(object, part)) break;
    for (std::string& text : file.strings(object, part)) all.push_back(std::move(text));
  }
  return all;
}

void write_h5_weights(Hdf5Writer& file, const std::string& group,
                      const std::vector<Layer>& layers) {
  std::vector<std::string> layer_names;
  std::set<std::string> seen;
  for (const Layer& layer : layers) {
    layer_names.push_back(layer.name());
    if (seen.insert(layer.name()).second) continue;
    throw make_error(Code::already_exists,
                     "Unable to create group (name already exists): two layers are named '{}'",
                     layer.name());
  }
  if (!group.empty()) file.add_group(group);
  write_h5_names(file, group, "layer_names", layer_names);
  file.set_string(group, "backend", "tensorflow");
  file.set_string(group, "keras_version", kKerasVersion);
  for (const Layer& layer : layers) {
    const std::string at = below(group, layer.name());
    const std::vector<NamedWeight> weights = h5_weights_of(*layer.definition());
    std::vector<WeightPtr> pointers;
    std::vector<std::string> names;
    for (const NamedWeight& named : weights) {
      pointers.push_back(named.weight);
      names.push_back(named.name);
    }
    initialize(pointers);
    file.add_group(at);
    write_h5_names(file, at, "weight_names", names);
    for (const NamedWeight& named : weights) {
      file.add_array(at + "/" + named.name, named.weight->value());
    }
  }
}

StoredWeights read_h5_weights(const Hdf5Reader& file, const std::string& group) {
  if (!file.has_attribute(group, "layer_names") && !file.has_attribute(group, "layer_names0")) {
    throw invalid_argument(
        "{}: '{}' has no attribute 'layer_names', expected a file of Keras weights", file.name(),
        group.empty() ? "/" : group);
  }
  StoredWeights stored{.file = file.name()};
  stored.source.keras1 = text_or(file, group, "keras_version", "1").starts_with('1');
  stored.source.backend = text_or(file, group, "backend", "");
  for (std::string& name : read_h5_names(file, group, "layer_names")) {
    const std::string at = below(group, name);
    StoredLayer layer{.name = std::move(name),
                      .weight_names = read_h5_names(file, at, "weight_names")};
    for (const std::string& weight : layer.weight_names) {
      layer.values.push_back(file.read(fmt::format("{}/{}", at, weight)));
    }
    stored.layers.push_back(std::move(layer));
  }
  return stored;
}

}  // namespace systole::keras
