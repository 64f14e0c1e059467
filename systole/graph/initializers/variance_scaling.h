// Values whose spread depends on the shape.
#pragma once

#include "systole/graph/initializers/initializer_def.h"

namespace systole {

struct VarianceScalingOptions {
  double scale = 1;
  std::string mode = "fan_in";                    // or "fan_out", "fan_avg"
  std::string distribution = "truncated_normal";  // "normal"; or "uniform", "untruncated_normal"
  std::optional<int64_t> seed = std::nullopt;
};

namespace keras::initializers {
struct VarianceScalingOptions {
  double scale = 1;
  std::string mode = "fan_in";          // or "fan_out", "fan_avg"
  std::string distribution = "normal";  // truncated; or "uniform", "untruncated_normal"
  std::optional<int64_t> seed = std::nullopt;
};
}  // namespace keras::initializers

namespace rules {

// Mean 0 and variance scale / n, with n the number of inputs of a unit, of its outputs, or their
// mean: of a matrix [in, out] its sizes, of a kernel [..., in, out] those times the sizes before
// them. Truncated normal values are drawn wider, so that the variance is right after the
// truncation. Errors: INVALID_ARGUMENT for another mode or distribution.
Output scaled_values(const InitializerCall& call, double scale, std::string_view mode,
                     std::string_view distribution);
void check_variance_scaling(const RuleValues& arguments);

struct VarianceScaling : InitializerRule {
  using Options = VarianceScalingOptions;
  using KerasOptions = keras::initializers::VarianceScalingOptions;
  static constexpr std::tuple kMembers{&Options::scale, &Options::mode, &Options::distribution};
  static constexpr std::tuple kKerasMembers{&KerasOptions::scale, &KerasOptions::mode,
                                            &KerasOptions::distribution};
  static constexpr std::array kArguments = {
      RuleArgument{.name = "scale", .usual = 1},
      RuleArgument{.name = "mode", .kind = RuleArgumentKind::text, .usual_text = "fan_in"},
      RuleArgument{.name = "distribution", .kind = RuleArgumentKind::text, .usual_text = "normal"}};

  static constexpr InitializerDef def{
      .keras_class = "VarianceScaling",
      .doc = "Mean 0 and variance scale / n, with n the inputs or outputs of a unit.",
      .arguments = kArguments,
      .seeded = true,
      .check = check_variance_scaling,
      .value = [](const InitializerCall& call) {
        return scaled_values(call, call.arguments.number("scale"), call.arguments.text("mode"),
                             call.arguments.text("distribution"));
      }};
};

// A rule with an integral scale.
template <int Scale, bool AveragedFans, bool Uniform>
constexpr InitializerDef scaled_initializer(std::string_view keras_class, std::string_view alias,
                                            std::string_view doc) {
  return {.keras_class = keras_class,
          .keras_aliases = alias,
          .doc = doc,
          .seeded = true,
          .value = [](const InitializerCall& call) {
            return scaled_values(call, Scale, AveragedFans ? "fan_avg" : "fan_in",
                                 Uniform ? "uniform" : "truncated_normal");
          }};
}

// Source: Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural
// networks", 2010.
struct GlorotUniform : InitializerRule {
  static constexpr InitializerDef def = scaled_initializer<1, true, true>(
      "GlorotUniform", "glorot_uniform", "Variance 2 / (inputs + outputs), uniform.");
};
struct GlorotNormal : InitializerRule {
  static constexpr InitializerDef def = scaled_initializer<1, true, false>(
      "GlorotNormal", "glorot_normal", "Variance 2 / (inputs + outputs), truncated normal.");
};
// Source: He et al., "Delving deep into rectifiers", 2015.
struct HeUniform : InitializerRule {
  static constexpr InitializerDef def = scaled_initializer<2, false, true>(
      "HeUniform", "he_uniform", "Variance 2 / inputs, uniform.");
};
struct HeNormal : InitializerRule {
  static constexpr InitializerDef def = scaled_initializer<2, false, false>(
      "HeNormal", "he_normal", "Variance 2 / inputs, truncated normal.");
};
// Source: LeCun et al., "Efficient backprop", 1998.
struct LecunUniform : InitializerRule {
  static constexpr InitializerDef def = scaled_initializer<1, false, true>(
      "LecunUniform", "lecun_uniform", "Variance 1 / inputs, uniform.");
};
struct LecunNormal : InitializerRule {
  static constexpr InitializerDef def = scaled_initializer<1, false, false>(
      "LecunNormal", "lecun_normal", "Variance 1 / inputs, truncated normal.");
};

}  // namespace rules

inline constexpr InitializerFunction<rules::VarianceScaling> variance_scaling_initializer;
inline constexpr InitializerFunction<rules::GlorotUniform> glorot_uniform_initializer;
inline constexpr InitializerFunction<rules::GlorotNormal> glorot_normal_initializer;
inline constexpr InitializerFunction<rules::HeUniform> he_uniform_initializer;
inline constexpr InitializerFunction<rules::HeNormal> he_normal_initializer;
inline constexpr InitializerFunction<rules::LecunUniform> lecun_uniform_initializer;
inline constexpr InitializerFunction<rules::LecunNormal> lecun_normal_initializer;

namespace keras::initializers {
// NOLINTBEGIN(readability-identifier-naming): the names of Keras.
inline constexpr InitializerClass<rules::VarianceScaling> VarianceScaling;
inline constexpr InitializerClass<rules::GlorotUniform> glorot_uniform;
inline constexpr InitializerClass<rules::GlorotNormal> glorot_normal;
inline constexpr InitializerClass<rules::HeUniform> he_uniform;
inline constexpr InitializerClass<rules::HeNormal> he_normal;
inline constexpr InitializerClass<rules::LecunUniform> lecun_uniform;
inline constexpr InitializerClass<rules::LecunNormal> lecun_normal;
// NOLINTEND(readability-identifier-naming)
}  // namespace keras::initializers

}  // namespace systole
