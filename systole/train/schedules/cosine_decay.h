// Cosine decay. Source: Loshchilov and Hutter, arXiv 1608.03983.
#pragma once

#include <cmath>

#include "systole/train/schedules/schedule_def.h"

namespace systole {

struct CosineDecayOptions {
  double alpha = 0.0;
  std::string name = "CosineDecay";
};
// learning_rate * ((1 - alpha) * (1 + cos(pi * min(step, decay_steps) / decay_steps)) / 2 + alpha).
inline Output cosine_decay(const Input& learning_rate, const Input& global_step,
                           const Input& decay_steps, const CosineDecayOptions& options = {}) {
  check_hyperparameter("cosine_decay", "alpha", options.alpha, HyperparameterRange::fraction,
                       learning_rate.where());
  const NameScope scope(options.name);
  const rules::DecayProgress progress =
      rules::resolve_progress("cosine_decay", learning_rate, global_step, decay_steps);
  const Output completed = divide(progress.step_within(), progress.decay_steps);
  const Output cosine = rules::half_cosine(completed);
  return multiply(progress.learning_rate, add(multiply(1 - options.alpha, cosine), options.alpha));
}

struct CosineDecayRestartsOptions {
  double t_mul = 2.0;  // each period is so many times as long as the one before
  double m_mul = 1.0;  // and begins with so many times its rate
  double alpha = 0.0;
  std::string name = "SGDRDecay";
};
// cosine_decay() that begins anew after first_decay_steps, and so on.
// (tf.train.cosine_decay_restarts)
inline Output cosine_decay_restarts(const Input& learning_rate, const Input& global_step,
                                    const Input& first_decay_steps,
                                    const CosineDecayRestartsOptions& options = {}) {
  check_hyperparameter("cosine_decay_restarts", "alpha", options.alpha,
                       HyperparameterRange::fraction, learning_rate.where());
  check_hyperparameter("cosine_decay_restarts", "t_mul", options.t_mul,
                       HyperparameterRange::positive, learning_rate.where());
  const NameScope scope(options.name);
  const rules::DecayProgress progress = rules::resolve_progress(
      "cosine_decay_restarts", learning_rate, global_step, first_decay_steps);
  const Output periods = progress.periods(false);
  Output restarts;
  Output completed;
  if (options.t_mul == 1) {
    restarts = floor(periods);
    completed = periods - restarts;
  } else {
    const double growth = 1 - options.t_mul;
    restarts = floor(log(1.0 - periods * growth) / std::log(options.t_mul));
    const Output length = pow(static_cast<float>(options.t_mul), restarts);
    completed = (periods - (1.0 - length) / growth) / length;
  }
  const Output cosine =
      pow(static_cast<float>(options.m_mul), restarts) * rules::half_cosine(completed);
  return multiply(progress.learning_rate, cosine * (1 - options.alpha) + options.alpha);
}

namespace rules {
struct CosineDecay : ScheduleRule {
  static constexpr std::array kArguments = {kInitialRate, kDecaySteps, kAlpha};
  static Output make(const RuleValues& v, const Input& step) {
    return cosine_decay(v.number("learning_rate"), step, v.number("decay_steps"),
                        {.alpha = v.number("alpha")});
  }
  static constexpr ScheduleDef def{.name = "cosine_decay",
                                   .doc = "Half a period of a cosine.",
                                   .arguments = kArguments,
                                   .make = make};
};

struct CosineDecayRestarts : ScheduleRule {
  static constexpr std::array kArguments = {
      kInitialRate,
      RuleArgument{.name = "first_decay_steps",
                   .kind = RuleArgumentKind::integer,
                   .doc = "Steps of the first period, at least 1.",
                   .least = 1},
      RuleArgument{.name = "t_mul",
                   .usual = 2,
                   .doc = "Length of a period in lengths of the one before.",
                   .range = HyperparameterRange::positive},
      RuleArgument{
          .name = "m_mul", .usual = 1, .doc = "First rate of a period in those of the one before."},
      kAlpha};
  static Output make(const RuleValues& v, const Input& step) {
    return cosine_decay_restarts(
        v.number("learning_rate"), step, v.number("first_decay_steps"),
        {.t_mul = v.number("t_mul"), .m_mul = v.number("m_mul"), .alpha = v.number("alpha")});
  }
  static constexpr ScheduleDef def{.name = "cosine_decay_restarts",
                                   .doc = "Halves of cosines, one after another.",
                                   .arguments = kArguments,
                                   .make = make};
};
}  // namespace rules

namespace train {
using systole::cosine_decay;
using systole::cosine_decay_restarts;
}  // namespace train

}  // namespace systole
