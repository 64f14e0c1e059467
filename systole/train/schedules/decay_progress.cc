#include <numbers>

#include "systole/train/schedules/schedule_def.h"

namespace systole::rules {

Output DecayProgress::periods(bool staircase) const {
  const Output quotient = divide(step, decay_steps);
  return staircase ? floor(quotient) : quotient;
}

DecayProgress resolve_progress(std::string_view schedule, const Input& learning_rate,
                               const Input& global_step, const Input& decay_steps) {
  check_hyperparameter(schedule, "learning_rate", learning_rate, HyperparameterRange::not_negative);
  check_hyperparameter(schedule, "decay_steps", decay_steps, HyperparameterRange::positive);
  const Output rate = learning_rate.resolve(learning_rate.weak() ? DType::f32 : DType::invalid);
  return {rate, cast(global_step, rate.dtype()), cast(decay_steps, rate.dtype())};
}

Output half_cosine(const Output& fraction) {
  return multiply(0.5, add(1, cos(multiply(fraction, std::numbers::pi))));
}

}  // namespace systole::rules
