// Initializers of weights by name or as objects. (tf.keras.initializers)
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "systole/graph/initializers/initializers.h"
#include "systole/keras/base/configured.h"

namespace systole::keras {

template <class T>
struct JsonType;

// "glorot_uniform", initializers::RandomNormal({.stddev = 0.1}), or a function of the graph API,
// which cannot be saved. Without a seed, values depend on the seed of the current graph
// (set_random_seed) and on the order in which weights are made. The initializers stand in
// graph/initializers.
class InitializerSpec {
 public:
  InitializerSpec() = default;                                                     // none
  InitializerSpec(const char* name) : InitializerSpec(std::string(name)) {}        // NOLINT
  InitializerSpec(const std::string& name);                                        // NOLINT
  InitializerSpec(Initializer function) : object_{"", {}, std::move(function)} {}  // NOLINT
  explicit InitializerSpec(Configured<Initializer> object) : object_(std::move(object)) {}
  InitializerSpec(const InitializerDef& def, const RuleValues& arguments,
                  std::optional<int64_t> seed);

  explicit operator bool() const { return object_.function != nullptr; }
  const Configured<Initializer>& object() const { return object_; }
  // For one weight, with the seed that it gets here where the object has none.
  Initializer for_weight() const;

 private:
  Configured<Initializer> object_;
};

void register_initializer(const std::string& class_name, ClassTable<Initializer>::Make make);

namespace initializers {

template <class Rule>
InitializerSpec InitializerClass<Rule>::operator()(const Options& options) const {
  return {Rule::def,
          values_of(options, Rule::kKerasMembers, Rule::def.arguments, RuleFronts::keras),
          seed_in(options)};
}

template <class Rule>
template <PositionalValue First, PositionalValue... More>
InitializerSpec InitializerClass<Rule>::operator()(First first, More... more) const {
  return (*this)(
      options_by_position<Options>(with_seed<Options>(Rule::kKerasMembers), first, more...));
}

}  // namespace initializers

template <>
struct JsonType<InitializerSpec> {
  static constexpr std::string_view name = "the name or configuration of an initializer";
  static constexpr ArgumentKind kind = ArgumentKind::object;
  static std::vector<ClassDoc> classes();
  static Json to_json(const InitializerSpec& initializer);
  static InitializerSpec from_json(const Json& json);
};

}  // namespace systole::keras
