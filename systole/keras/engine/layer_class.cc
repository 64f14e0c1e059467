#include "systole/keras/engine/layer_class.h"

#include <algorithm>
#include <map>
#include <utility>

#include "systole/base/error.h"
#include "systole/base/suggest.h"

namespace systole::keras {
namespace {

struct Registry {
  std::map<std::string, LayerClass> classes;
  std::map<std::string, std::string> aliases;

  void add(LayerClass added) {
    const std::string name = added.name;
    for (const std::string& alias : added.aliases) aliases.emplace(alias, name);
    if (!classes.emplace(name, std::move(added)).second) {
      throw make_error(Code::already_exists, "layer class '{}' is registered already", name);
    }
  }
};

Registry& registry() {
  static Registry made = [] {
    Registry all;
    for (LayerClass (*const file)() : layer_class_files()) all.add(file());
    return all;
  }();
  return made;
}

template <class T>
void check_json(const Json& json) {
  static_cast<void>(JsonType<T>::from_json(json));
}

Shape shape_from_json(const Json& json) {
  Dims dims;
  for (const Json& size : json) {
    dims.push_back(size.is_null() ? -1 : JsonType<int64_t>::from_json(size));
  }
  return Shape(std::move(dims));
}

}  // namespace

void check_layer_size(std::string_view layer, std::string_view argument, int64_t size) {
  if (size >= 1 && size <= kMaxLayerSize) return;
  throw invalid_argument("{}: {}, got {}, expected an integer from 1 to {}", layer, argument, size,
                         kMaxLayerSize);
}

const LayerClass& find_layer_class(const std::string& name) {
  const Registry& all = registry();
  const auto alias = all.aliases.find(name);
  const auto it = all.classes.find(alias == all.aliases.end() ? name : alias->second);
  if (it == all.classes.end()) {
    throw not_found("Unknown layer: {}{}", name, did_you_mean(name, layer_class_names()));
  }
  return it->second;
}

std::vector<std::string> layer_class_names() {
  std::vector<std::string> names;
  for (const auto& [name, layer_class] : registry().classes) names.push_back(name);
  return names;
}

void register_layer_class(LayerClass layer_class) {
  layer_class.of_program = true;
  registry().add(std::move(layer_class));
}

std::vector<ArgumentDoc> common_argument_docs() {
  return {{.name = "name",
           .type = std::string(JsonType<std::string>::name),
           .default_value = "",
           .check = check_json<std::string>},
          {.name = "trainable",
           .type = std::string(JsonType<bool>::name),
           .default_value = true,
           .check = check_json<bool>}};
}

CommonArguments take_common_arguments(Json& config) {
  CommonArguments common;
  const auto take = [&](const char* key) -> std::optional<Json> {
    const auto it = config.find(key);
    if (it == config.end()) return std::nullopt;
    Json value = std::move(*it);
    config.erase(it);
    return value.is_null() ? std::nullopt : std::optional(std::move(value));
  };
  if (const auto name = take("name")) common.name = JsonType<std::string>::from_json(*name);
  if (const auto trainable = take("trainable")) {
    common.trainable = JsonType<bool>::from_json(*trainable);
  }
  if (const auto shape = take("batch_input_shape")) {
    common.batch_input_shape = shape_from_json(*shape);
  }
  if (const auto shape = take("input_shape")) {
    common.batch_input_shape = with_batch(-1, shape_from_json(*shape));
  }
  if (const auto mean = take("activity_regularizer_mean")) {
    common.activity_regularizer_mean = JsonType<bool>::from_json(*mean);
  }
  take("dtype");
  return common;
}

Json shape_to_json(const Shape& shape) {
  Json sizes = Json::array();
  for (const int64_t size : shape) sizes.push_back(size < 0 ? Json(nullptr) : Json(size));
  return sizes;
}

Json common_config(const LayerDefinition& layer) {
  Json json = {{"name", layer.name()}, {"trainable", layer.trainable()}};
  if (layer.batch_input_shape()) {
    json["batch_input_shape"] = shape_to_json(*layer.batch_input_shape());
  }
  json["dtype"] = "float32";
  if (layer.activity_regularizer_mean()) json["activity_regularizer_mean"] = true;
  return json;
}

void apply_common(LayerDefinition& layer, const CommonArguments& common) {
  layer.set_name(common.name.empty() ? unique_layer_name(layer.class_name()) : common.name);
  if (!common.trainable) layer.set_trainable(false);  // layers inside may be frozen already
  layer.set_batch_input_shape(common.batch_input_shape);
  layer.set_activity_regularizer_mean(common.activity_regularizer_mean);
  layer.set_where(common.where);
}

Shape with_batch(int64_t batch, const Shape& shape) {
  Dims dims{batch};
  dims.insert(dims.end(), shape.begin(), shape.end());
  return Shape(std::move(dims));
}

}  // namespace systole::keras
