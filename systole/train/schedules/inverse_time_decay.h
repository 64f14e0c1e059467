// Decay with the inverse of time.
#pragma once

#include "systole/train/schedules/schedule_def.h"

namespace systole {

struct InverseTimeDecayOptions {
  bool staircase = false;
  std::string name = "InverseTimeDecay";
};
// learning_rate / (1 + decay_rate * global_step / decay_steps); staircase takes the quotient
// rounded down.
inline Output inverse_time_decay(const Input& learning_rate, const Input& global_step,
                                 const Input& decay_steps, const Input& decay_rate,
                                 const InverseTimeDecayOptions& options = {}) {
  check_hyperparameter("inverse_time_decay", "decay_rate", decay_rate,
                       HyperparameterRange::not_negative);
  const NameScope scope(options.name);
  const rules::DecayProgress progress =
      rules::resolve_progress("inverse_time_decay", learning_rate, global_step, decay_steps);
  const Output periods = progress.periods(options.staircase);
  return divide(progress.learning_rate, add(1, multiply(decay_rate, periods)));
}

namespace rules {
struct InverseTimeDecay : ScheduleRule {
  static constexpr ScheduleDef def = periodic_decay<InverseTimeDecayOptions, inverse_time_decay>(
      "inverse_time_decay", "rate / (1 + decay_rate * step / decay_steps).");
};
}  // namespace rules

namespace train {
using systole::inverse_time_decay;
}  // namespace train

}  // namespace systole
