// Exponential decay.
#pragma once

#include <concepts>

#include "systole/train/schedules/schedule_def.h"

namespace systole {

struct ExponentialDecayOptions {
  bool staircase = false;
  std::string name = "ExponentialDecay";
};
// learning_rate * decay_rate ^ (global_step / decay_steps), the quotient floored with `staircase`.
inline Output exponential_decay(const Input& learning_rate, const Input& global_step,
                                const Input& decay_steps, const Input& decay_rate,
                                const ExponentialDecayOptions& options = {}) {
  check_hyperparameter("exponential_decay", "decay_rate", decay_rate,
                       HyperparameterRange::not_negative);
  const NameScope scope(options.name);
  const rules::DecayProgress progress =
      rules::resolve_progress("exponential_decay", learning_rate, global_step, decay_steps);
  const Output& rate = progress.learning_rate;
  const Output exponent = progress.periods(options.staircase);
  return multiply(rate, pow(decay_rate.resolve(rate.dtype()), exponent));
}
// exponential_decay(0.1, step, 1000, 0.96, true). A template, so that {} stands for no options.
template <std::same_as<bool> Bool>
Output exponential_decay(const Input& learning_rate, const Input& global_step,
                         const Input& decay_steps, const Input& decay_rate, Bool staircase) {
  return exponential_decay(learning_rate, global_step, decay_steps, decay_rate,
                           ExponentialDecayOptions{.staircase = staircase});
}

namespace rules {
struct ExponentialDecay : ScheduleRule {
  static constexpr ScheduleDef def = periodic_decay<ExponentialDecayOptions, exponential_decay>(
      "exponential_decay", "rate * decay_rate ^ (step / decay_steps).");
};
}  // namespace rules

namespace train {
using systole::exponential_decay;
}  // namespace train

}  // namespace systole
