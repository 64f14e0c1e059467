// What an optimizer is: a rule, of which each header of this folder defines one or more.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "systole/graph/core/graph.h"
#include "systole/graph/core/rule_arguments.h"

namespace systole {

class UpdateStep;

// A hyperparameter: a number, or a tensor such as the result of a learning rate schedule. Every
// optimizer's constructor throws INVALID_ARGUMENT for a learning rate below 0, NaN or infinity.
using Hyperparameter = Input;

// Parts of names of parameters, as regular expressions.
using NamePatterns = std::vector<std::string>;

// The value of an argument. Numbers may be tensors in tf.train alone.
using ArgumentValue = std::variant<bool, double, Hyperparameter, NamePatterns>;

// The values of one optimizer's arguments, keyed by ArgumentRow::name.
struct OptimizerArguments {
  bool in_keras = false;
  std::map<std::string, ArgumentValue, std::less<>> values = {};

  // False, 0: also for an argument that this front end does not have.
  bool flag(std::string_view name) const;
  double number(std::string_view name) const;
  bool has_patterns(std::string_view name) const;
  // Whether one of the argument's patterns matches a part of the parameter's name.
  bool matches(std::string_view name, const std::string& parameter) const;
};

// A variable that the optimizer keeps for each parameter, or for all.
struct OptimizerSlot {
  std::string_view name;                      // in the rule, and in TensorFlow's update op
  std::string_view train_name = name;         // what tf.train's slot() calls it
  double initial = 0;                         // of every element
  std::optional<Shape> shape = std::nullopt;  // the parameter's
  bool for_files = false;                     // Keras's files have it; the update does not
};

// Which rows of a table change, where only some of them have a gradient.
enum class UpdatedRows : uint8_t {
  all,               // as if the others had a gradient of 0
  touched,           // parameters and slots keep the others
  touched_variable,  // the parameters keep the others, slots do not
};

// Named fields; a field not named is absent.
struct OptimizerDef {
  std::string_view name;             // tf.train's class without "Optimizer": "Adam"
  std::string_view keras_name = {};  // "RMSprop"; the same where it is empty
  std::string_view doc;              // a sentence, for the reference of configuration files
  // By default, in Keras; and of the class that TensorFlow has from 2.11 on, where that differs.
  double keras_learning_rate = 0.001;
  std::optional<double> keras_2_11_learning_rate = std::nullopt;

  // In the order in which they are made and stored.
  std::vector<OptimizerSlot> (*slots)(const OptimizerArguments& arguments,
                                      const Shape& parameter) = nullptr;
  // A scalar that all parameters share, its first value, and its value after so many steps, for
  // Keras's files, which do not have it.
  std::string_view shared_slot = {};
  double shared_initial = 0;
  double (*shared_after)(const OptimizerArguments& arguments, int64_t steps) = nullptr;
  // The arguments whose powers the update reads: beta ^ t in step t. tf.train keeps them.
  std::span<const std::string_view> powers = {};
  // The update reads the number of the step.
  bool counts_steps = false;

  // Assigns the parameter and its slots.
  void (*update)(UpdateStep& step) = nullptr;
  // False for an update that needs all of a gradient at once, also that of a table.
  bool elementwise = true;
  // The rows that change where no other are asked for.
  UpdatedRows rows = UpdatedRows::all;
  // The rows that change in Keras where `lazy` is given (and this argument is not 0).
  UpdatedRows lazy_rows = UpdatedRows::touched;
  std::string_view lazy_with = {};

  // Whether Keras's files have the number of steps before the slots; and how many slots of a
  // parameter stand side by side in those of TensorFlow from 2.11 on and of Keras 3.
  bool keras_keeps_iterations = true;
  size_t keras_interleaved_slots = 0;

  // TensorFlow's update op, without "ResourceApply". tf.train's graphs have it. Empty: plain ops.
  std::string_view op = {};
  // The update adds to the parameter a multiple of the gradient alone: rows of a gradient are added
  // one by one, also where their numbers repeat.
  bool adds_gradient = false;

  std::string_view name_in_keras() const { return keras_name.empty() ? name : keras_name; }
};

// A member of an options struct, and its name there.
template <class O>
struct ArgumentMember {
  std::string_view name = {};
  std::variant<std::monostate, Hyperparameter O::*, double O::*, bool O::*, NamePatterns O::*>
      member;
};

// An argument of a rule: its name there, and its members in the options of tf.train (whose names
// configuration files have, too) and of Keras. An argument may be missing in one of them.
template <class O, class K>
struct ArgumentRow {
  std::string_view name;
  ArgumentMember<O> train;
  ArgumentMember<K> keras;
  // The range of a number; Keras stores fractions in f32, and has a range of its own for all
  // numbers.
  std::optional<HyperparameterRange> range = std::nullopt;
  std::string_view doc = {};
  // tf.train has no default: the constructor takes it after the learning rate.
  bool required = false;
  // Keras has it in later versions only: its files name it where it is not the default.
  bool later = false;
};

// An argument as one front end has it.
struct OptimizerArgument {
  std::string_view rule_name;
  std::string_view name;
  std::optional<HyperparameterRange> range;
  std::string_view doc;
  bool required;
  bool later;
  ArgumentValue value;
  ArgumentValue usual;  // by default

  bool is_flag() const { return std::holds_alternative<bool>(value); }
  bool is_patterns() const { return std::holds_alternative<NamePatterns>(value); }
  bool is_number() const { return !is_flag() && !is_patterns(); }
};

// Base of rules. A rule has
//   using Options = ...;       those of tf.train's class; NoOptions: there is none
//   using KerasOptions = ...;  those of Keras's class; the same
//   static constexpr OptimizerDef def;
//   static std::vector<ArgumentRow<Options, KerasOptions>> arguments();
struct OptimizerRule {};
struct NoOptions {};

// Returns the value of a member; nullopt for one that the front end does not have.
template <class O>
std::optional<ArgumentValue> argument_value(const ArgumentMember<O>& argument, const O& options) {
  return std::visit(
      [&]<class M>(const M& member) -> std::optional<ArgumentValue> {
        if constexpr (std::is_same_v<M, std::monostate>) {
          return std::nullopt;
        } else {
          return ArgumentValue(options.*member);
        }
      },
      argument.member);
}

template <class Row, class O>
void add_argument(std::vector<OptimizerArgument>& all, const Row& row,
                  const ArgumentMember<O>& member, const O& options) {
  if (auto value = argument_value(member, options)) {
    all.push_back({row.name, member.name, row.range, row.doc, row.required, row.later,
                   std::move(*value), *argument_value(member, O{})});
  }
}

// The arguments of tf.train's class, without the learning rate.
template <class Rule>
std::vector<OptimizerArgument> train_arguments(const typename Rule::Options& options) {
  std::vector<OptimizerArgument> all;
  for (const auto& row : Rule::arguments()) add_argument(all, row, row.train, options);
  return all;
}

// The arguments of Keras's class without `lr`, those that all classes have at the end.
template <class Rule>
std::vector<OptimizerArgument> keras_arguments(const typename Rule::KerasOptions& options) {
  using K = typename Rule::KerasOptions;
  using Row = ArgumentRow<typename Rule::Options, K>;
  std::vector<Row> rows = Rule::arguments();
  if constexpr (requires { options.decay; }) {
    rows.push_back(
        {.name = "decay", .keras = {"decay", &K::decay}, .range = HyperparameterRange::fraction});
  }
  rows.push_back({.name = "clipnorm", .keras = {"clipnorm", &K::clipnorm}, .later = true});
  rows.push_back({.name = "clipvalue", .keras = {"clipvalue", &K::clipvalue}, .later = true});
  if constexpr (requires { options.lazy; }) {
    rows.push_back({.name = "lazy", .keras = {"lazy", &K::lazy}, .later = true});
  }
  std::vector<OptimizerArgument> all;
  for (const Row& row : rows) add_argument(all, row, row.keras, options);
  return all;
}

// All rules, made by the build from this folder.
std::span<const OptimizerDef* const> all_optimizer_defs();

// The classes of the front ends: see train/optimizer.h and keras/optimizers/optimizer.h.
template <class Rule>
class OptimizerOf;
namespace keras {
template <class Rule>
class OptimizerSpecOf;
}  // namespace keras

}  // namespace systole
