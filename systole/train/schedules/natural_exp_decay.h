// Exponential decay with base e.
#pragma once

#include "systole/train/schedules/schedule_def.h"

namespace systole {

struct NaturalExpDecayOptions {
  bool staircase = false;
  std::string name = "NaturalExpDecay";
};
// learning_rate * exp(-decay_rate * global_step / decay_steps); staircase takes the quotient
// global_step / decay_steps rounded down.
inline Output natural_exp_decay(const Input& learning_rate, const Input& global_step,
                                const Input& decay_steps, const Input& decay_rate,
                                const NaturalExpDecayOptions& options = {}) {
  check_hyperparameter("natural_exp_decay", "decay_rate", decay_rate,
                       HyperparameterRange::not_negative);
  const NameScope scope(options.name);
  const rules::DecayProgress progress =
      rules::resolve_progress("natural_exp_decay", learning_rate, global_step, decay_steps);
  const Output periods = progress.periods(options.staircase);
  return multiply(progress.learning_rate, exp(negative(multiply(decay_rate, periods))));
}

namespace rules {
struct NaturalExpDecay : ScheduleRule {
  static constexpr ScheduleDef def = periodic_decay<NaturalExpDecayOptions, natural_exp_decay>(
      "natural_exp_decay", "rate * exp(-decay_rate * step / decay_steps).");
};
}  // namespace rules

namespace train {
using systole::natural_exp_decay;
}  // namespace train

}  // namespace systole
