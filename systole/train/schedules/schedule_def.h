// What a schedule is: a rule, of which each header of this folder defines one or more.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/rule_arguments.h"
#include "systole/train/hyperparameter.h"

namespace systole {

// Named fields; a field not named is absent.
struct ScheduleDef {
  std::string_view name;  // in tf.train and in configuration files: "exponential_decay"
  std::string_view doc;   // a formula or a sentence
  std::span<const RuleArgument> arguments;
  Output (*make)(const RuleValues& values, const Input& global_step) = nullptr;
};

// Base of rules. A rule has
//   static constexpr ScheduleDef def;
struct ScheduleRule {};

// All rules, made by the build from this folder.
std::span<const ScheduleDef* const> all_schedule_defs();

namespace rules {

// The learning rate as a tensor; step and decay_steps are converted to its dtype.
struct DecayProgress {
  Output learning_rate;
  Output step;
  Output decay_steps;

  // step / decay_steps.
  Output periods(bool staircase) const;
  // step, at most decay_steps.
  Output step_within() const { return minimum(step, decay_steps); }
};
// Errors: INVALID_ARGUMENT for a rate below 0 or decay_steps that are not above 0.
DecayProgress resolve_progress(std::string_view schedule, const Input& learning_rate,
                               const Input& global_step, const Input& decay_steps);
// (1 + cos(pi * fraction)) / 2
Output half_cosine(const Output& fraction);

inline constexpr RuleArgument kInitialRate{.name = "learning_rate", .doc = "Initial rate."};
inline constexpr RuleArgument kDecaySteps{.name = "decay_steps",
                                          .kind = RuleArgumentKind::integer,
                                          .doc = "Steps of one decay period, at least 1.",
                                          .least = 1};
inline constexpr RuleArgument kDecayRate{.name = "decay_rate", .doc = "Decay of one period."};
inline constexpr RuleArgument kStaircase{.name = "staircase",
                                         .kind = RuleArgumentKind::flag,
                                         .usual = 0,
                                         .doc = "Decay at the end of each period only."};
inline constexpr RuleArgument kAlpha{.name = "alpha",
                                     .usual = 0,
                                     .doc = "Final rate as a fraction of the initial rate.",
                                     .range = HyperparameterRange::fraction};
inline constexpr std::array kPeriodicArguments = {kInitialRate, kDecaySteps, kDecayRate,
                                                  kStaircase};

// The schedule of a function that takes kPeriodicArguments.
template <class Options,
          Output (*Decay)(const Input&, const Input&, const Input&, const Input&, const Options&)>
constexpr ScheduleDef periodic_decay(std::string_view name, std::string_view doc) {
  return {.name = name,
          .doc = doc,
          .arguments = kPeriodicArguments,
          .make = [](const RuleValues& v, const Input& step) {
            return Decay(v.number("learning_rate"), step, v.number("decay_steps"),
                         v.number("decay_rate"), Options{.staircase = v.flag("staircase")});
          }};
}

}  // namespace rules

}  // namespace systole
