// Penalties on weights and activations. (tf.keras.regularizers)
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "systole/graph/core/graph.h"
#include "systole/keras/base/configured.h"
#include "systole/train/regularizers/regularizers.h"

namespace systole::keras {

// Returns the penalty on a weight, an f32 scalar that is added to the loss.
using RegularizerFn = std::function<Output(const Output& weight)>;

template <class T>
struct JsonType;

// "l2", regularizers::l2(0.001), a function, or none. The regularizers stand in train/regularizers.
class RegularizerSpec {
 public:
  RegularizerSpec() = default;
  RegularizerSpec(std::nullptr_t) {}                                                 // NOLINT
  RegularizerSpec(const char* name) : RegularizerSpec(std::string(name)) {}          // NOLINT
  RegularizerSpec(const std::string& name);                                          // NOLINT
  RegularizerSpec(RegularizerFn function) : object_{"", {}, std::move(function)} {}  // NOLINT
  explicit RegularizerSpec(Configured<RegularizerFn> object) : object_(std::move(object)) {}
  RegularizerSpec(const RegularizerDef& def, const RuleValues& arguments);

  explicit operator bool() const { return object_.function != nullptr; }
  const Configured<RegularizerFn>& object() const { return object_; }
  const RegularizerFn& function() const { return object_.function; }

 private:
  Configured<RegularizerFn> object_;
};

void register_regularizer(const std::string& class_name, ClassTable<RegularizerFn>::Make make);

namespace regularizers {

template <class Rule>
RegularizerSpec RegularizerClass<Rule>::operator()(const Options& options) const {
  if constexpr (requires { Rule::keras_object(options); }) {
    return RegularizerClass<typename Rule::KerasObject>{}(Rule::keras_object(options));
  } else {
    return {Rule::def,
            values_of(options, Rule::kKerasMembers, Rule::def.arguments, RuleFronts::keras)};
  }
}

template <class Rule>
template <PositionalValue... Values>
RegularizerSpec RegularizerClass<Rule>::operator()(Values... values) const {
  return (*this)(options_by_position<Options>(Rule::kKerasMembers, values...));
}

}  // namespace regularizers

template <>
struct JsonType<RegularizerSpec> {
  static constexpr std::string_view name = "the name or configuration of a regularizer, or null";
  static constexpr ArgumentKind kind = ArgumentKind::object;
  static std::vector<ClassDoc> classes();
  static Json to_json(const RegularizerSpec& regularizer);
  static RegularizerSpec from_json(const Json& json);
};

}  // namespace systole::keras
