// Learning rate schedules: scalar tensors computed from the global step.
// (tf.train.exponential_decay and others)
#pragma once

#include <concepts>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "systole/graph/api/graph.h"
#include "systole/graph/optimizers/optimizer_def.h"

namespace systole {

// For every schedule: `global_step` is a non-negative integer scalar; the result is a scalar of the
// learning rate's dtype (f32 for a literal). Schedules are computed on the device, so each step of
// a launch has its own rate. Errors: INVALID_ARGUMENT with the user's line unless the learning rate
// and the decay rate are 0 or more, and decay_steps is above 0, where these are known numbers.

struct ExponentialDecayOptions {
  bool staircase = false;
  std::string name = "ExponentialDecay";
};
// learning_rate * decay_rate ^ (global_step / decay_steps), the quotient floored with `staircase`.
Output exponential_decay(const Input& learning_rate, const Input& global_step,
                         const Input& decay_steps, const Input& decay_rate,
                         const ExponentialDecayOptions& options = {});
// exponential_decay(0.1, step, 1000, 0.96, true). A template, so that {} stands for no options.
template <std::same_as<bool> Bool>
Output exponential_decay(const Input& learning_rate, const Input& global_step,
                         const Input& decay_steps, const Input& decay_rate, Bool staircase) {
  return exponential_decay(learning_rate, global_step, decay_steps, decay_rate,
                           ExponentialDecayOptions{.staircase = staircase});
}

struct NaturalExpDecayOptions {
  bool staircase = false;
  std::string name = "NaturalExpDecay";
};
// learning_rate * exp(-decay_rate * global_step / decay_steps); staircase takes the quotient
// global_step / decay_steps rounded down.
Output natural_exp_decay(const Input& learning_rate, const Input& global_step,
                         const Input& decay_steps, const Input& decay_rate,
                         const NaturalExpDecayOptions& options = {});

struct InverseTimeDecayOptions {
  bool staircase = false;
  std::string name = "InverseTimeDecay";
};
// learning_rate / (1 + decay_rate * global_step / decay_steps); staircase as above.
Output inverse_time_decay(const Input& learning_rate, const Input& global_step,
                          const Input& decay_steps, const Input& decay_rate,
                          const InverseTimeDecayOptions& options = {});

// values[0] while x <= boundaries[0], values[1] while x <= boundaries[1], and so on; then the last.
// Errors: INVALID_ARGUMENT unless boundaries ascend and there is one value more than boundaries.
Output piecewise_constant(const Input& x, const std::vector<int64_t>& boundaries,
                          const std::vector<double>& values,
                          const std::string& name = "PiecewiseConstant");

struct PolynomialDecayOptions {
  double end_learning_rate = 0.0001;
  double power = 1.0;
  bool cycle = false;
  std::string name = "PolynomialDecay";
};
// (learning_rate - end) * (1 - min(step, decay_steps) / decay_steps) ^ power + end; with `cycle`
// decay_steps is rounded up to the next multiple after the step.
Output polynomial_decay(const Input& learning_rate, const Input& global_step,
                        const Input& decay_steps, const PolynomialDecayOptions& options = {});

struct CosineDecayOptions {
  double alpha = 0.0;
  std::string name = "CosineDecay";
};
// learning_rate * ((1 - alpha) * (1 + cos(pi * min(step, decay_steps) / decay_steps)) / 2 + alpha).
// Source: Loshchilov and Hutter, arXiv 1608.03983.
Output cosine_decay(const Input& learning_rate, const Input& global_step, const Input& decay_steps,
                    const CosineDecayOptions& options = {});

// -- Schedules by name, for configuration files.

struct ScheduleArgument {
  enum class Kind : uint8_t { number, integer, flag, numbers, integers };
  std::string_view name;
  Kind kind = Kind::number;
  std::optional<double> usual = std::nullopt;  // by default; nullopt: required
  std::string_view doc = {};
  // The range of a number.
  HyperparameterRange range = HyperparameterRange::not_negative;
};

// The values of a schedule's arguments: one each, but for lists.
struct ScheduleValues {
  std::map<std::string, std::vector<double>, std::less<>> values = {};

  double number(std::string_view name) const { return list(name).front(); }
  bool flag(std::string_view name) const { return number(name) != 0; }
  const std::vector<double>& list(std::string_view name) const { return values.find(name)->second; }
};

struct ScheduleDef {
  std::string_view name;  // "exponential_decay"
  std::string_view doc;   // a formula or a sentence
  std::vector<ScheduleArgument> arguments;
  Output (*make)(const ScheduleValues& values, const Input& global_step) = nullptr;
};
const std::vector<ScheduleDef>& schedule_defs();

}  // namespace systole
