// Values from a distribution of given parameters.
#pragma once

#include "systole/graph/initializers/initializer_def.h"

namespace systole {

struct NormalInitializerOptions {
  double mean = 0;
  double stddev = 1;
  std::optional<int64_t> seed;
};

struct UniformInitializerOptions {
  double minval = 0;
  double maxval = 1;
  std::optional<int64_t> seed;
};

namespace keras::initializers {
struct RandomNormalOptions {
  double mean = 0;
  double stddev = 0.05;
  std::optional<int64_t> seed = std::nullopt;
};
struct RandomUniformOptions {
  double minval = -0.05;
  double maxval = 0.05;
  std::optional<int64_t> seed = std::nullopt;
};
}  // namespace keras::initializers

namespace rules {

struct RandomNormal : InitializerRule {
  using Options = NormalInitializerOptions;
  using KerasOptions = keras::initializers::RandomNormalOptions;
  static constexpr std::tuple kMembers{&Options::mean, &Options::stddev};
  static constexpr std::tuple kKerasMembers{&KerasOptions::mean, &KerasOptions::stddev};
  static constexpr std::array kArguments = {
      RuleArgument{.name = "mean", .usual = 0},
      RuleArgument{.name = "stddev", .usual = 1, .keras_usual = 0.05}};

  static constexpr InitializerDef def{.keras_class = "RandomNormal",
                                      .keras_aliases = "random_normal normal",
                                      .doc = "A normal distribution.",
                                      .arguments = kArguments,
                                      .seeded = true,
                                      .value = [](const InitializerCall& call) {
                                        return random_normal(
                                            call.shape, {.mean = call.arguments.number("mean"),
                                                         .stddev = call.arguments.number("stddev"),
                                                         .dtype = call.dtype,
                                                         .seed = call.seed});
                                      }};
};

struct TruncatedNormal : InitializerRule {
  using Options = NormalInitializerOptions;
  using KerasOptions = keras::initializers::RandomNormalOptions;
  static constexpr std::tuple kMembers = RandomNormal::kMembers;
  static constexpr std::tuple kKerasMembers = RandomNormal::kKerasMembers;
  static constexpr std::array kArguments = RandomNormal::kArguments;

  static constexpr InitializerDef def{
      .keras_class = "TruncatedNormal",
      .keras_aliases = "truncated_normal",
      .doc = "A normal distribution without the values beyond two standard deviations.",
      .arguments = kArguments,
      .seeded = true,
      .value = [](const InitializerCall& call) {
        return truncated_normal(call.shape, {.mean = call.arguments.number("mean"),
                                             .stddev = call.arguments.number("stddev"),
                                             .dtype = call.dtype,
                                             .seed = call.seed});
      }};
};

struct RandomUniform : InitializerRule {
  using Options = UniformInitializerOptions;
  using KerasOptions = keras::initializers::RandomUniformOptions;
  static constexpr std::tuple kMembers{&Options::minval, &Options::maxval};
  static constexpr std::tuple kKerasMembers{&KerasOptions::minval, &KerasOptions::maxval};
  static constexpr std::array kArguments = {
      RuleArgument{.name = "minval", .usual = 0, .keras_usual = -0.05},
      RuleArgument{.name = "maxval", .usual = 1, .keras_usual = 0.05}};

  static constexpr InitializerDef def{.keras_class = "RandomUniform",
                                      .keras_aliases = "random_uniform uniform",
                                      .doc = "Evenly distributed from minval to maxval.",
                                      .arguments = kArguments,
                                      .seeded = true,
                                      .value = [](const InitializerCall& call) {
                                        return random_uniform(
                                            call.shape, {.minval = call.arguments.number("minval"),
                                                         .maxval = call.arguments.number("maxval"),
                                                         .dtype = call.dtype,
                                                         .seed = call.seed});
                                      }};
};

}  // namespace rules

inline constexpr InitializerFunction<rules::RandomNormal> random_normal_initializer;
inline constexpr InitializerFunction<rules::TruncatedNormal> truncated_normal_initializer;
inline constexpr InitializerFunction<rules::RandomUniform> random_uniform_initializer;

namespace keras::initializers {
// NOLINTBEGIN(readability-identifier-naming): the names of Keras.
inline constexpr InitializerClass<rules::RandomNormal> RandomNormal;
inline constexpr InitializerClass<rules::TruncatedNormal> TruncatedNormal;
inline constexpr InitializerClass<rules::RandomUniform> RandomUniform;
// NOLINTEND(readability-identifier-naming)
}  // namespace keras::initializers

}  // namespace systole
