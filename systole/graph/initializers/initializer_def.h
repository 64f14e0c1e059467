// What an initializer is: a rule, of which each header of this folder defines one or more.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/random_ops.h"
#include "systole/graph/core/graph.h"
#include "systole/graph/core/rule_arguments.h"

namespace systole {

// Adds the ops that make the first value of a variable of a shape, which is static, and a dtype.
using Initializer = std::function<Output(const Shape& shape, DType dtype)>;

// What makes a value.
struct InitializerCall {
  const RuleValues& arguments;
  std::optional<int64_t> seed;
  const Shape& shape;
  DType dtype;
};

// Named fields; a field not named is absent.
struct InitializerDef {
  std::string_view keras_class;         // the name in files: "GlorotUniform"
  std::string_view keras_aliases = {};  // with spaces between them
  std::string_view doc;                 // a sentence, for the reference of configuration files
  std::span<const RuleArgument> arguments = {};
  bool seeded = false;  // takes a seed, its last argument
  // Throws for arguments that do not fit.
  void (*check)(const RuleValues& arguments) = nullptr;
  Output (*value)(const InitializerCall& call) = nullptr;
};

// Base of rules. A rule has
//   static constexpr InitializerDef def;
//   using Options = ...;       of the function in tf.initializers, if there is one
//   using KerasOptions = ...;  of Keras's class
//   static constexpr std::tuple kMembers{&Options::...};  those that are arguments
//   static constexpr std::tuple kKerasMembers{&KerasOptions::...};
// By default its one argument is a seed.
struct SeedOptions {
  std::optional<int64_t> seed = std::nullopt;
};
struct NoInitializerOptions {};
struct InitializerRule {
  using Options = SeedOptions;
  using KerasOptions = SeedOptions;
  static constexpr std::tuple<> kMembers{};
  static constexpr std::tuple<> kKerasMembers{};
};

// All rules, made by the build from this folder.
std::span<const InitializerDef* const> all_initializer_defs();

// Errors: INVALID_ARGUMENT for arguments that do not fit.
Initializer make_initializer(const InitializerDef& def, RuleValues arguments,
                             std::optional<int64_t> seed = {});

template <class Options>
std::optional<int64_t> seed_in(const Options& options) {
  if constexpr (requires { options.seed; }) {
    return options.seed;
  } else {
    return std::nullopt;
  }
}

// Members of options, and the seed where they have one.
template <class Options, class... Members>
constexpr auto with_seed(const std::tuple<Members...>& members) {
  if constexpr (requires(Options o) { o.seed; }) {
    return std::tuple_cat(members, std::tuple{&Options::seed});
  } else {
    return members;
  }
}

// The function of tf.initializers: random_normal_initializer({.stddev = 0.1}), or (0.0, 0.1).
template <class Rule>
struct InitializerFunction {
  using Options = typename Rule::Options;

  Initializer operator()(const Options& options = {}) const {
    return make_initializer(
        Rule::def, values_of(options, Rule::kMembers, Rule::def.arguments, RuleFronts::train),
        seed_in(options));
  }
  template <PositionalValue First, PositionalValue... More>
  Initializer operator()(First first, More... more) const {
    return (*this)(
        options_by_position<Options>(with_seed<Options>(Rule::kMembers), first, more...));
  }
};

namespace keras {
class InitializerSpec;
namespace initializers {

// Keras's class of an initializer: RandomNormal({.stddev = 0.1}). See
// keras/functions/initializer.h.
template <class Rule>
struct InitializerClass {
  using Options = typename Rule::KerasOptions;

  InitializerSpec operator()(const Options& options = {}) const;
  template <PositionalValue First, PositionalValue... More>
  InitializerSpec operator()(First first, More... more) const;
};

using systole::SeedOptions;

}  // namespace initializers
}  // namespace keras

}  // namespace systole
