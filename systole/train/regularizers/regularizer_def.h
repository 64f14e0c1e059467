// What a regularizer is: a rule, of which each header of this folder defines one or more.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <string_view>
#include <tuple>

#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/nn_ops.h"
#include "systole/graph/core/graph.h"
#include "systole/graph/core/rule_arguments.h"

namespace systole {

// Named fields; a field not named is absent.
struct RegularizerDef {
  std::string_view keras_class;  // the name in files: "L1L2"
  std::string_view doc;          // a sentence, for the reference of configuration files
  std::span<const RuleArgument> arguments = {};
  // The penalty on a weight, a scalar.
  Output (*value)(const RuleValues& arguments, const Output& weight) = nullptr;
  // Keras's, where it is another.
  Output (*keras_value)(const RuleValues& arguments, const Output& weight) = value;
};

// Base of rules. A rule has
//   static constexpr RegularizerDef def;
//   using Options = ...;       of the function in tf.contrib.layers, if there is one
//   using KerasOptions = ...;  of Keras's class
//   static constexpr std::tuple kMembers{&Options::...};  those that are arguments
//   static constexpr std::tuple kKerasMembers{&KerasOptions::...};
//   using KerasObject = ...;   the rule of what Keras's function makes, by default itself, and
//   static KerasObject::KerasOptions keras_object(const KerasOptions& options);
struct RegularizerRule {};

// All rules, made by the build from this folder.
std::span<const RegularizerDef* const> all_regularizer_defs();

namespace layers {

// Returns a scalar, computed from a variable, that is added to the total loss.
using Regularizer = std::function<Output(const Output& weights)>;

// The function of tf.contrib.layers: l2_regularizer(0.01).
template <class Rule>
struct RegularizerFunction {
  using Options = typename Rule::Options;

  Regularizer operator()(const Options& options) const {
    return [values = values_of(options, Rule::kMembers, Rule::def.arguments, RuleFronts::train)](
               const Output& weights) { return Rule::def.value(values, weights); };
  }
  template <PositionalValue... Values>
  Regularizer operator()(Values... values) const {
    return (*this)(options_by_position<Options>(Rule::kMembers, values...));
  }
};

}  // namespace layers

namespace keras {
class RegularizerSpec;
namespace regularizers {

// Keras's class of a regularizer: l2(0.001). See keras/functions/regularizer.h.
template <class Rule>
struct RegularizerClass {
  using Options = typename Rule::KerasOptions;

  RegularizerSpec operator()(const Options& options) const;
  template <PositionalValue... Values>
  RegularizerSpec operator()(Values... values) const;
};

}  // namespace regularizers
}  // namespace keras

}  // namespace systole
