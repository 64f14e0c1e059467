// Linear decay times a cosine. Source: Bello et al., arXiv 1709.07417.
#pragma once

#include "systole/graph/api/random_ops.h"
#include "systole/train/schedules/schedule_def.h"

namespace systole {

struct LinearCosineDecayOptions {
  double num_periods = 0.5;  // of the cosine
  double alpha = 0.0;
  double beta = 0.001;
  std::string name = "LinearCosineDecay";
};
struct NoisyLinearCosineDecayOptions {
  double initial_variance = 1.0;
  double variance_decay = 0.55;
  double num_periods = 0.5;
  double alpha = 0.0;
  double beta = 0.001;
  std::string name = "NoisyLinearCosineDecay";
};

namespace rules {
// rate * ((alpha + linear) * cosine + beta)
template <class Options>
Output linear_cosine(const DecayProgress& progress, const Output& noise, const Options& options) {
  const Output step = progress.step_within();
  Output linear = divide(subtract(progress.decay_steps, step), progress.decay_steps);
  if (noise.valid()) linear = linear + noise;
  const Output fraction = divide(step, progress.decay_steps) * (2 * options.num_periods);
  return multiply(progress.learning_rate,
                  (linear + options.alpha) * half_cosine(fraction) + options.beta);
}
}  // namespace rules

// learning_rate * ((alpha + 1 - s) * (1 + cos(2 pi num_periods s)) / 2 + beta), with
// s = min(step, decay_steps) / decay_steps. (tf.train.linear_cosine_decay)
inline Output linear_cosine_decay(const Input& learning_rate, const Input& global_step,
                                  const Input& decay_steps,
                                  const LinearCosineDecayOptions& options = {}) {
  const NameScope scope(options.name);
  return rules::linear_cosine(
      rules::resolve_progress("linear_cosine_decay", learning_rate, global_step, decay_steps), {},
      options);
}

// The same with noise in the linear part, of the variance initial_variance / (1 + step) ^
// variance_decay. (tf.train.noisy_linear_cosine_decay)
inline Output noisy_linear_cosine_decay(const Input& learning_rate, const Input& global_step,
                                        const Input& decay_steps,
                                        const NoisyLinearCosineDecayOptions& options = {}) {
  const NameScope scope(options.name);
  const rules::DecayProgress progress =
      rules::resolve_progress("noisy_linear_cosine_decay", learning_rate, global_step, decay_steps);
  const Output variance =
      options.initial_variance / pow(progress.step_within() + 1.0, options.variance_decay);
  const Output noise = random_normal({}, {.dtype = variance.dtype()}) * sqrt(variance);
  return rules::linear_cosine(progress, noise, options);
}

namespace rules {
inline constexpr RuleArgument kNumPeriods{
    .name = "num_periods", .usual = 0.5, .doc = "Periods of the cosine."};
inline constexpr RuleArgument kLinearAlpha{
    .name = "alpha", .usual = 0, .doc = "Added to the linear part."};
inline constexpr RuleArgument kLinearBeta{
    .name = "beta", .usual = 0.001, .doc = "Added to the product."};

struct LinearCosineDecay : ScheduleRule {
  static constexpr std::array kArguments = {kInitialRate, kDecaySteps, kNumPeriods, kLinearAlpha,
                                            kLinearBeta};
  static Output make(const RuleValues& v, const Input& step) {
    return linear_cosine_decay(v.number("learning_rate"), step, v.number("decay_steps"),
                               {.num_periods = v.number("num_periods"),
                                .alpha = v.number("alpha"),
                                .beta = v.number("beta")});
  }
  static constexpr ScheduleDef def{.name = "linear_cosine_decay",
                                   .doc = "A straight line times a cosine.",
                                   .arguments = kArguments,
                                   .make = make};
};

struct NoisyLinearCosineDecay : ScheduleRule {
  static constexpr std::array kArguments = {
      kInitialRate,
      kDecaySteps,
      RuleArgument{.name = "initial_variance", .usual = 1, .doc = "Variance of the noise."},
      RuleArgument{
          .name = "variance_decay", .usual = 0.55, .doc = "Exponent of the decay of the variance."},
      kNumPeriods,
      kLinearAlpha,
      kLinearBeta};
  static Output make(const RuleValues& v, const Input& step) {
    return noisy_linear_cosine_decay(v.number("learning_rate"), step, v.number("decay_steps"),
                                     {.initial_variance = v.number("initial_variance"),
                                      .variance_decay = v.number("variance_decay"),
                                      .num_periods = v.number("num_periods"),
                                      .alpha = v.number("alpha"),
                                      .beta = v.number("beta")});
  }
  static constexpr ScheduleDef def{.name = "noisy_linear_cosine_decay",
                                   .doc = "A straight line with noise times a cosine.",
                                   .arguments = kArguments,
                                   .make = make};
};
}  // namespace rules

namespace train {
using systole::linear_cosine_decay;
using systole::noisy_linear_cosine_decay;
}  // namespace train

}  // namespace systole
