// A polynomial from the initial rate to the last.
#pragma once

#include "systole/train/schedules/schedule_def.h"

namespace systole {

struct PolynomialDecayOptions {
  double end_learning_rate = 0.0001;
  double power = 1.0;
  bool cycle = false;
  std::string name = "PolynomialDecay";
};
// (learning_rate - end) * (1 - min(step, decay_steps) / decay_steps) ^ power + end; with `cycle`
// decay_steps is rounded up to the next multiple after the step.
inline Output polynomial_decay(const Input& learning_rate, const Input& global_step,
                               const Input& decay_steps,
                               const PolynomialDecayOptions& options = {}) {
  check_hyperparameter("polynomial_decay", "end_learning_rate", options.end_learning_rate,
                       HyperparameterRange::not_negative, learning_rate.where());
  const NameScope scope(options.name);
  auto [rate, step, steps] =
      rules::resolve_progress("polynomial_decay", learning_rate, global_step, decay_steps);
  if (options.cycle) {
    steps = multiply(steps, maximum(1, ceil(divide(step, steps))));
  } else {
    step = minimum(step, steps);
  }
  const Output remaining = subtract(1, divide(step, steps));
  return add(multiply(subtract(rate, options.end_learning_rate), pow(remaining, options.power)),
             options.end_learning_rate);
}

namespace rules {
struct PolynomialDecay : ScheduleRule {
  static constexpr std::array kArguments = {
      kInitialRate, kDecaySteps,
      RuleArgument{.name = "end_learning_rate", .usual = 0.0001, .doc = "Final rate."},
      RuleArgument{.name = "power", .usual = 1, .doc = "Exponent of the polynomial."},
      RuleArgument{.name = "cycle",
                   .kind = RuleArgumentKind::flag,
                   .usual = 0,
                   .doc = "Restart after decay_steps."}};
  static Output make(const RuleValues& v, const Input& step) {
    return polynomial_decay(v.number("learning_rate"), step, v.number("decay_steps"),
                            {.end_learning_rate = v.number("end_learning_rate"),
                             .power = v.number("power"),
                             .cycle = v.flag("cycle")});
  }
  static constexpr ScheduleDef def{.name = "polynomial_decay",
                                   .doc = "A polynomial from the initial rate to the last.",
                                   .arguments = kArguments,
                                   .make = make};
};
}  // namespace rules

namespace train {
using systole::polynomial_decay;
}  // namespace train

}  // namespace systole
