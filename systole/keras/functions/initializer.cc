#include "systole/keras/functions/initializer.h"

#include "systole/keras/base/counters.h"
#include "systole/keras/base/fields.h"
#include "systole/keras/base/rule_config.h"

namespace systole::keras {
namespace {

using SeedType = JsonType<std::optional<int64_t>>;

std::optional<int64_t> seed_of(const Json& config) {
  return config.contains("seed") ? SeedType::from_json(config.at("seed")) : std::nullopt;
}

void add_definition(const InitializerDef& def, ClassTable<Initializer>& table) {
  std::vector<std::string> arguments = keras_argument_names(def.arguments);
  if (def.seeded) arguments.emplace_back("seed");
  const auto make = [&def](const Json& config) {
    return make_initializer(def, values_from_config(def.arguments, config),
                            def.seeded ? seed_of(config) : std::nullopt);
  };
  table.add(std::string(def.keras_class), split_names(def.keras_aliases), make,
            std::move(arguments), std::string(def.doc));
}

ClassTable<Initializer>& initializer_table() {
  static ClassTable<Initializer> classes = [] {
    ClassTable<Initializer> made("initializer");
    for (const InitializerDef* def : all_initializer_defs()) add_definition(*def, made);
    return made;
  }();
  return classes;
}

}  // namespace

InitializerSpec::InitializerSpec(const std::string& name)
    : object_(initializer_table().make(name)) {}

InitializerSpec::InitializerSpec(const InitializerDef& def, const RuleValues& arguments,
                                 std::optional<int64_t> seed) {
  Json config = config_of(def.arguments, arguments);
  if (def.seeded) config["seed"] = SeedType::to_json(seed);
  object_ = initializer_table().make(std::string(def.keras_class), std::move(config));
}

Initializer InitializerSpec::for_weight() const {
  if (object_.class_name.empty() || seed_of(object_.config)) return object_.function;
  Json config = object_.config;
  config["seed"] = next_seed();
  return initializer_table().make(object_.class_name, std::move(config)).function;
}

void register_initializer(const std::string& class_name, ClassTable<Initializer>::Make make) {
  initializer_table().add(class_name, {}, std::move(make));
}

Json JsonType<InitializerSpec>::to_json(const InitializerSpec& initializer) {
  return optional_to_json<Initializer>(initializer.object(), "initializer");
}

InitializerSpec JsonType<InitializerSpec>::from_json(const Json& json) {
  return json.is_null() ? InitializerSpec() : InitializerSpec(initializer_table().from_json(json));
}

std::vector<ClassDoc> JsonType<InitializerSpec>::classes() { return initializer_table().docs(); }

}  // namespace systole::keras
