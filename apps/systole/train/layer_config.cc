#include "apps/systole/train/layer_config.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "apps/systole/config/config_section.h"
#include "systole/base/suggest.h"
#include "systole/base/text.h"
#include "systole/graph/core/graph.h"

namespace systole::app {
namespace {

using keras::ArgumentDoc;
using keras::ArgumentKind;
using keras::ClassDoc;
using keras::Json;
using keras::LayerClass;

// The number that is all of `text`.
template <class T>
std::optional<T> number_in(const std::string& text) {
  const char* const begin = text.starts_with('+') ? text.data() + 1 : text.data();
  const char* const end = text.data() + text.size();
  T value{};
  const auto [at, status] = std::from_chars(begin, end, value);
  return status == std::errc() && at == end ? std::optional(value) : std::nullopt;
}

// A text of the configuration of a layer, which is JSON.
std::string json_text(const ConfigNode& node, const std::string& what, std::string text) {
  for (std::string_view rest = text; !rest.empty();) {
    const size_t size = utf8_length(rest);
    if (size == 0) throw node.error(what, "bytes that are not UTF-8", "UTF-8");
    rest.remove_prefix(size);
  }
  return text;
}

// A scalar as YAML 1.2 types it; one in quotation marks is a text.
Json scalar_json(const ConfigNode& node, const std::string& what) {
  const auto text = json_text(node, what, node.as<std::string>(what, "a value"));
  if (node.is_quoted()) return text;
  if (text == "true" || text == "True") return true;
  if (text == "false" || text == "False") return false;
  if (text == "null" || text == "None" || text == "~") return nullptr;
  if (const auto integer = number_in<int64_t>(text)) return *integer;
  const auto number = number_in<double>(text.starts_with('.') ? "0" + text : text);
  if (!number) return text;
  if (!std::isfinite(*number)) throw node.error(what, text, "a finite number");
  return *number;
}

Json json_of(const ConfigNode& node, const std::string& what) {
  if (node.is_list()) {
    Json list = Json::array();
    for (const ConfigNode& item : node.items(what, "a list")) list.push_back(json_of(item, what));
    return list;
  }
  if (node.is_map()) {
    Json object = Json::object();
    for (const auto& [name, value] : node.entries(what)) {
      object[json_text(value, what, name)] = json_of(value, what);
    }
    return object;
  }
  return node.is_scalar() ? scalar_json(node, what) : Json(nullptr);
}

Json class_json(std::string class_name, Json config) {
  return {{"class_name", std::move(class_name)}, {"config", std::move(config)}};
}

const ClassDoc* find_class(const std::vector<ClassDoc>& classes, const std::string& name) {
  for (const ClassDoc& known : classes) {
    if (known.name == name || std::ranges::count(known.aliases, name) > 0) return &known;
  }
  return nullptr;
}

// An initializer, a regularizer or a constraint.
Json object_json(const ConfigNode& node, const std::string& what,
                 const std::vector<ClassDoc>& classes) {
  const auto [name, arguments] = named(node, what);
  const ClassDoc* const found = find_class(classes, name);
  if (found == nullptr) {
    std::vector<std::string> names;
    for (const ClassDoc& known : classes) names.push_back(known.name);
    throw node.error(what, "'" + name + "'", expected_names(name, names));
  }
  Json config = Json::object();
  if (!arguments.present() || arguments.is_null()) return class_json(found->name, config);
  const std::string layer = fmt::format("{} {}", what, name);
  for (const auto& [key, value] : arguments.entries(layer)) {
    if (found->arguments && std::ranges::count(*found->arguments, key) == 0) {
      throw value.error(
          layer, "'" + key + "'",
          found->arguments->empty() ? "no arguments" : expected_names(key, *found->arguments));
    }
    config[json_text(value, layer, key)] = json_of(value, fmt::format("{} {}", layer, key));
  }
  return class_json(found->name, config);
}

Json layer_json(const ConfigNode& node) {
  const LayerConfig layer = parse_layer(node);
  return class_json(layer.layer_class->name, layer.config);
}

Json layers_json(const ConfigNode& node, const std::string& what) {
  if (!node.is_list()) return layer_json(node);
  Json list = Json::array();
  for (const ConfigNode& item : node.items(what, "a list of layers")) {
    list.push_back(layer_json(item));
  }
  return list;
}

Json argument_json(const ConfigNode& node, const std::string& what, const ArgumentDoc& argument) {
  if (argument.kind == ArgumentKind::layer) return layers_json(node, what);
  if (argument.kind == ArgumentKind::object && !node.is_null()) {
    return object_json(node, what, argument.classes());
  }
  const bool text = argument.type == keras::JsonType<std::string>::name;
  return text && node.is_scalar()
             ? Json(json_text(node, what, node.as<std::string>(what, argument.type)))
             : json_of(node, what);
}

std::vector<ArgumentDoc> arguments_of(const LayerClass& layer_class) {
  std::vector<ArgumentDoc> all = layer_class.arguments;
  for (ArgumentDoc& common : keras::common_argument_docs()) all.push_back(std::move(common));
  return all;
}

// The name of the argument that a single value sets.
std::string single_argument(const LayerClass& layer_class) {
  const auto& arguments = layer_class.arguments;
  const auto it = std::ranges::find_if(arguments, &ArgumentDoc::required);
  if (it != arguments.end()) return it->name;
  return arguments.empty() ? "" : arguments[0].name;
}

std::vector<std::pair<std::string, ConfigNode>> given_arguments(const LayerClass& layer_class,
                                                                const ConfigNode& node) {
  if (!node.present() || node.is_null()) return {};
  if (node.is_map()) return node.entries(layer_class.name);
  const std::string single = single_argument(layer_class);
  if (single.empty()) throw node.error(layer_class.name, node.shown(), "no arguments");
  return {{single, node}};
}

void add_argument(const LayerClass& layer_class, const std::vector<ArgumentDoc>& known,
                  const std::string& key, const ConfigNode& value, Json& config) {
  const auto it = std::ranges::find(known, key, &ArgumentDoc::name);
  if (it == known.end()) {
    throw value.error(layer_class.name, "'" + key + "'", expected_names(key, names_of(known)));
  }
  const std::string what = layer_class.name + ": " + key;
  Json json = argument_json(value, what, *it);
  if (it->check && it->kind != ArgumentKind::layer) {
    try {
      it->check(json);
    } catch (const Error& error) {
      throw value.placed(make_error(error.code(), "{}, {}", what, error.message()));
    }
  }
  config[key] = std::move(json);
}

// The argument that an error of a layer's constructor is about: "Dense: units, got 0, ...".
ConfigNode place_of(const Error& error, const LayerClass& layer_class, const ConfigNode& arguments,
                    const ConfigNode& layer) {
  std::string_view told = error.message();
  if (told.starts_with(layer_class.name + ": ")) told.remove_prefix(layer_class.name.size() + 2);
  for (const auto& [key, value] : given_arguments(layer_class, arguments)) {
    if (told.starts_with(key + ", ") || told.find("`" + key + "`") != std::string_view::npos) {
      return value;
    }
  }
  return layer;
}

// Makes the layer once, in a graph that is thrown away, for its checks.
void check_layer(const LayerConfig& layer, const ConfigNode& arguments) {
  Graph scratch;
  const GraphScope scope(scratch);
  std::shared_ptr<keras::LayerDefinition> made;
  try {
    made = layer.layer_class->from_config(layer.config);
  } catch (const Error& error) {
    throw place_of(error, *layer.layer_class, arguments, layer.node).placed(error);
  }
  if (made->stateful()) {
    throw layer.node.error(layer.layer_class->name, "stateful: true",
                           "false: batches of an estimator do not continue each other");
  }
}

}  // namespace

std::shared_ptr<keras::LayerDefinition> LayerConfig::make() const {
  auto layer = layer_class->from_config(config);
  layer->set_where(node.where());
  return layer;
}

LayerConfig parse_layer(const ConfigNode& node) {
  const auto [name, arguments] = named(node, "layer");
  const ConfigNode& place = node.is_map() ? arguments : node;  // the line of the name
  const LayerClass* found = nullptr;
  try {
    found = &keras::find_layer_class(name);
  } catch (const Error&) {
    throw place.error("layer", "'" + name + "'",
                      "a layer of Keras" + did_you_mean(name, keras::layer_class_names()));
  }
  LayerConfig layer{.layer_class = found, .config = Json::object(), .node = place};
  const std::vector<ArgumentDoc> known = arguments_of(*found);
  for (const auto& [key, value] : given_arguments(*found, arguments)) {
    add_argument(*found, known, key, value, layer.config);
  }
  for (const ArgumentDoc& argument : known) {
    if (!argument.required() || layer.config.contains(argument.name)) continue;
    throw place.error(found->name, "no " + argument.name, argument.type);
  }
  check_layer(layer, arguments);
  return layer;
}

}  // namespace systole::app
