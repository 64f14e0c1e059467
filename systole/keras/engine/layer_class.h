// Classes of layers: what one file of layers/ declares about its layer, and the registry of all of
// them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "systole/keras/base/fields.h"
#include "systole/keras/engine/layer.h"
#include "systole/keras/functions/activation.h"
#include "systole/keras/functions/constraint.h"
#include "systole/keras/functions/initializer.h"
#include "systole/keras/functions/regularizer.h"

namespace systole::keras {

// `shape` after a batch dimension.
Shape with_batch(int64_t batch, const Shape& shape);

// The largest size of an axis that a layer's argument may ask for.
inline constexpr int64_t kMaxLayerSize = INT32_MAX;
// Checks an argument that is a size, such as units or filters. Errors: INVALID_ARGUMENT, which
// names the layer, the argument and the size, unless it is from 1 to kMaxLayerSize.
void check_layer_size(std::string_view layer, std::string_view argument, int64_t size);

// Arguments that every layer takes. Options structs of layers repeat the fields.
struct CommonArguments {
  std::string name;  // unique_layer_name() when empty
  bool trainable = true;
  std::optional<Shape> batch_input_shape;
  bool activity_regularizer_mean = false;
  SourceLocation where;
};

struct ArgumentDoc {
  std::string name;
  std::string type;
  Json default_value;  // discarded (see Json::is_discarded) for a required argument
  ArgumentKind kind = ArgumentKind::value;
  std::vector<ClassDoc> (*classes)() = nullptr;  // of an object
  // Errors: INVALID_ARGUMENT `got <json>, expected <type>`. Null where any value may stand.
  std::function<void(const Json&)> check = nullptr;

  bool required() const { return default_value.is_discarded(); }
};

// Returns those of CommonArguments that every configuration may have.
std::vector<ArgumentDoc> common_argument_docs();

// A class of layers as files, YAML and docs know it. `name` is Keras's: "Dense".
struct LayerClass {
  std::string name;
  std::vector<std::string> aliases = {};
  std::vector<ArgumentDoc> arguments = {};
  // Makes a layer from its configuration. Errors: INVALID_ARGUMENT
  // `<class>: <argument>, got <json>, expected <type>`; NOT_FOUND for an unknown argument.
  std::function<std::shared_ptr<LayerDefinition>(const Json& config)> from_config = nullptr;
  CallSignature call = {};
  // Set by register_layer_class(): from_config gets what config() returned, unchanged.
  bool of_program = false;
};

// Errors: NOT_FOUND `Unknown layer: <name>` with the nearest name.
const LayerClass& find_layer_class(const std::string& name);
std::vector<std::string> layer_class_names();
// Adds a user's class. Its from_config gets configurations exactly as config() wrote them. Errors:
// ALREADY_EXISTS.
void register_layer_class(LayerClass layer_class);

// Layers and models inside configurations: {"class_name": ..., "config": ...}. Errors: those of
// find_layer_class and of the class's from_config; UNIMPLEMENTED when a layer cannot be saved.
Json layer_to_json(const LayerDefinition& layer);
Layer layer_from_json(const Json& json);

template <>
struct JsonType<Layer> {
  static constexpr std::string_view name = "a layer";
  static constexpr ArgumentKind kind = ArgumentKind::layer;
  static Json to_json(const Layer& layer) { return layer_to_json(*layer.definition()); }
  static Layer from_json(const Json& json) {
    if (!json.is_object() || !json.contains("class_name")) throw wrong_json(json, name);
    return layer_from_json(json);
  }
};

// Reads the arguments that all layers share and removes them from `config`.
CommonArguments take_common_arguments(Json& config);
// A shape as configurations have it: null for a size that is not fixed.
Json shape_to_json(const Shape& shape);
// Writes them.
Json common_config(const LayerDefinition& layer);
// Applies them to a new layer.
void apply_common(LayerDefinition& layer, const CommonArguments& common);

// Defined by the build from the files of layers/.
std::span<LayerClass (*const)()> layer_class_files();

// Base of layers whose arguments are an options struct with the fields `name`, `trainable` and,
// where layers can be the first of a model, `input_shape` and `batch_input_shape`. `Derived` has
//   static constexpr std::string_view kClassName = "Dense";
//   static std::vector<Field<Options>> fields();
//   explicit Derived(Options options);
//   static CallSignature signature();      where call() takes more than tensors and `training`
// `Base` is constructed with the arguments after the options.
template <class Derived, class Options, class Base = LayerDefinition>
class LayerOf : public Base {
 public:
  std::string class_name() const override { return std::string(Derived::kClassName); }
  Json config() const override {
    Json json = common_config(*this);
    for (const Field<Options>& field : Derived::fields()) json[field.name] = field.get(options_);
    return json;
  }
  const Options& options() const { return options_; }
  CallSignature call_signature() const override {
    if constexpr (requires { Derived::signature(); }) {
      return Derived::signature();
    } else {
      return Base::call_signature();
    }
  }

 protected:
  template <class... Arguments>
  explicit LayerOf(Options options, Arguments&&... base)
      : Base(std::forward<Arguments>(base)...), options_(std::move(options)) {}
  const Options options_;
};

// Options with the arguments of a configuration. Errors: as LayerClass::from_config.
template <class Derived, class Options>
Options options_from(Json config) {
  Options options;
  const std::vector<Field<Options>> fields = Derived::fields();
  for (const auto& [key, value] : config.items()) {
    const std::string& argument = key;
    const auto it = std::find_if(fields.begin(), fields.end(), [&](const Field<Options>& field) {
      return field.name == argument;
    });
    if (it == fields.end()) {
      std::vector<std::string> names;
      for (const Field<Options>& field : fields) names.push_back(field.name);
      throw not_found("{}: argument '{}' is not known{}", Derived::kClassName, key,
                      did_you_mean(key, names));
    }
    try {
      it->set(options, value);
    } catch (const Error& error) {
      if (value.is_null()) continue;  // left out: the default holds
      throw invalid_argument("{}: {}, {}", Derived::kClassName, key, error.message());
    }
  }
  for (const Field<Options>& field : fields) {
    if (!field.required || config.contains(field.name)) continue;
    throw invalid_argument("{}: {}, got none, expected {}", Derived::kClassName, field.name,
                           field.type);
  }
  return options;
}

// The class of `Derived`, for its file's function.
template <class Derived, class Options>
LayerClass layer_class(std::vector<std::string> aliases = {}) {
  LayerClass made{.name = std::string(Derived::kClassName), .aliases = std::move(aliases)};
  if constexpr (requires { Derived::signature(); }) made.call = Derived::signature();
  const Options defaults;
  for (const Field<Options>& field : Derived::fields()) {
    made.arguments.push_back(
        {.name = field.name,
         .type = field.type,
         .default_value = field.required ? Json(Json::value_t::discarded) : field.get(defaults),
         .kind = field.kind,
         .classes = field.classes,
         .check = [field](const Json& json) {
           Options options;
           field.set(options, json);
         }});
  }
  made.from_config = [](const Json& given) -> std::shared_ptr<LayerDefinition> {
    Json config = given;
    const CommonArguments common = take_common_arguments(config);
    auto layer = std::make_shared<Derived>(options_from<Derived, Options>(std::move(config)));
    apply_common(*layer, common);
    return layer;
  };
  return made;
}

// A layer from a C++ program's options, made at its line.
template <class Derived, class Options>
std::shared_ptr<LayerDefinition> make_layer(Options options, SourceLocation where) {
  CommonArguments common{.name = options.name, .trainable = options.trainable, .where = where};
  if constexpr (requires { options.batch_input_shape; }) {
    common.batch_input_shape = options.batch_input_shape;
  }
  if constexpr (requires { options.input_shape; }) {
    if (options.input_shape) common.batch_input_shape = with_batch(-1, *options.input_shape);
  }
  auto layer = std::make_shared<Derived>(std::move(options));
  apply_common(*layer, common);
  if constexpr (requires { layer->options().weights; }) {
    layer->set_initial_weights(layer->options().weights);
  }
  return layer;
}

}  // namespace systole::keras
