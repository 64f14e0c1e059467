#include "systole/train/learning_rate_decay.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numbers>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/op_error.h"
#include "systole/train/hyperparameter.h"

namespace systole {
namespace {

// The learning rate as a tensor; step and decay_steps are converted to its dtype.
struct DecayProgress {
  Output learning_rate;
  Output step;
  Output decay_steps;

  // step / decay_steps.
  Output periods(bool staircase) const {
    const Output quotient = divide(step, decay_steps);
    return staircase ? floor(quotient) : quotient;
  }
};

DecayProgress resolve_progress(std::string_view schedule, const Input& learning_rate,
                               const Input& global_step, const Input& decay_steps) {
  check_hyperparameter(schedule, "learning_rate", learning_rate, HyperparameterRange::not_negative);
  check_hyperparameter(schedule, "decay_steps", decay_steps, HyperparameterRange::positive);
  const Output rate = learning_rate.resolve(learning_rate.weak() ? DType::f32 : DType::invalid);
  return {rate, cast(global_step, rate.dtype()), cast(decay_steps, rate.dtype())};
}

}  // namespace

Output exponential_decay(const Input& learning_rate, const Input& global_step,
                         const Input& decay_steps, const Input& decay_rate,
                         const ExponentialDecayOptions& options) {
  check_hyperparameter("exponential_decay", "decay_rate", decay_rate,
                       HyperparameterRange::not_negative);
  const NameScope scope(options.name);
  const DecayProgress progress =
      resolve_progress("exponential_decay", learning_rate, global_step, decay_steps);
  const Output& rate = progress.learning_rate;
  const Output exponent = progress.periods(options.staircase);
  return multiply(rate, pow(decay_rate.resolve(rate.dtype()), exponent));
}

Output natural_exp_decay(const Input& learning_rate, const Input& global_step,
                         const Input& decay_steps, const Input& decay_rate,
                         const NaturalExpDecayOptions& options) {
  check_hyperparameter("natural_exp_decay", "decay_rate", decay_rate,
                       HyperparameterRange::not_negative);
  const NameScope scope(options.name);
  const DecayProgress progress =
      resolve_progress("natural_exp_decay", learning_rate, global_step, decay_steps);
  const Output periods = progress.periods(options.staircase);
  return multiply(progress.learning_rate, exp(negative(multiply(decay_rate, periods))));
}

Output inverse_time_decay(const Input& learning_rate, const Input& global_step,
                          const Input& decay_steps, const Input& decay_rate,
                          const InverseTimeDecayOptions& options) {
  check_hyperparameter("inverse_time_decay", "decay_rate", decay_rate,
                       HyperparameterRange::not_negative);
  const NameScope scope(options.name);
  const DecayProgress progress =
      resolve_progress("inverse_time_decay", learning_rate, global_step, decay_steps);
  const Output periods = progress.periods(options.staircase);
  return divide(progress.learning_rate, add(1, multiply(decay_rate, periods)));
}

Output piecewise_constant(const Input& x, const std::vector<int64_t>& boundaries,
                          const std::vector<double>& values, const std::string& name) {
  if (values.size() != boundaries.size() + 1) {
    throw at_line(invalid_argument(
                      "piecewise_constant: number of values, got {} for {} boundaries, expected {}",
                      values.size(), boundaries.size(), boundaries.size() + 1),
                  x.where());
  }
  if (std::ranges::adjacent_find(boundaries, std::greater_equal<>()) != boundaries.end()) {
    throw at_line(
        invalid_argument("piecewise_constant: boundaries, got [{}], expected rising values",
                         fmt::join(boundaries, ", ")),
        x.where());
  }
  for (const double value : values) {
    check_hyperparameter("piecewise_constant", "value", value, HyperparameterRange::not_negative,
                         x.where());
  }
  const NameScope scope(name);
  const Output step = cast(x, DType::s64);
  Output result = constant(static_cast<float>(values.back()));
  for (size_t i = boundaries.size(); i-- > 0;) {
    result = where(less_equal(step, boundaries[i]), static_cast<float>(values[i]), result);
  }
  return result;
}

Output polynomial_decay(const Input& learning_rate, const Input& global_step,
                        const Input& decay_steps, const PolynomialDecayOptions& options) {
  check_hyperparameter("polynomial_decay", "end_learning_rate", options.end_learning_rate,
                       HyperparameterRange::not_negative, learning_rate.where());
  const NameScope scope(options.name);
  auto [rate, step, steps] =
      resolve_progress("polynomial_decay", learning_rate, global_step, decay_steps);
  if (options.cycle) {
    steps = multiply(steps, maximum(1, ceil(divide(step, steps))));
  } else {
    step = minimum(step, steps);
  }
  const Output remaining = subtract(1, divide(step, steps));
  return add(multiply(subtract(rate, options.end_learning_rate), pow(remaining, options.power)),
             options.end_learning_rate);
}

Output cosine_decay(const Input& learning_rate, const Input& global_step, const Input& decay_steps,
                    const CosineDecayOptions& options) {
  check_hyperparameter("cosine_decay", "alpha", options.alpha, HyperparameterRange::fraction,
                       learning_rate.where());
  const NameScope scope(options.name);
  const auto [rate, step, steps] =
      resolve_progress("cosine_decay", learning_rate, global_step, decay_steps);
  const Output completed = divide(minimum(step, steps), steps);
  const Output cosine = multiply(0.5, add(1, cos(multiply(completed, std::numbers::pi))));
  return multiply(rate, add(multiply(1 - options.alpha, cosine), options.alpha));
}

namespace {

using ScheduleKind = ScheduleArgument::Kind;

const ScheduleArgument kInitialRate = {.name = "learning_rate", .doc = "Initial rate."};
const ScheduleArgument kDecaySteps = {.name = "decay_steps",
                                      .kind = ScheduleKind::integer,
                                      .doc = "Steps of one decay period, at least 1."};
const ScheduleArgument kDecayRate = {.name = "decay_rate", .doc = "Decay of one period."};
const ScheduleArgument kStaircase = {.name = "staircase",
                                     .kind = ScheduleKind::flag,
                                     .usual = 0,
                                     .doc = "Decay at the end of each period only."};

// The schedules that multiply by a power of the rate of one period.
template <class Options,
          Output (*Decay)(const Input&, const Input&, const Input&, const Input&, const Options&)>
ScheduleDef periodic_decay(std::string_view name, std::string_view doc) {
  return {.name = name,
          .doc = doc,
          .arguments = {kInitialRate, kDecaySteps, kDecayRate, kStaircase},
          .make = [](const ScheduleValues& v, const Input& step) {
            return Decay(v.number("learning_rate"), step, v.number("decay_steps"),
                         v.number("decay_rate"), Options{.staircase = v.flag("staircase")});
          }};
}

std::vector<ScheduleDef> make_schedule_defs() {
  return {periodic_decay<ExponentialDecayOptions, exponential_decay>(
              "exponential_decay", "rate * decay_rate ^ (step / decay_steps)."),
          periodic_decay<NaturalExpDecayOptions, natural_exp_decay>(
              "natural_exp_decay", "rate * exp(-decay_rate * step / decay_steps)."),
          periodic_decay<InverseTimeDecayOptions, inverse_time_decay>(
              "inverse_time_decay", "rate / (1 + decay_rate * step / decay_steps)."),
          {.name = "piecewise_constant",
           .doc = "A constant rate for each range of steps.",
           .arguments = {{.name = "boundaries",
                          .kind = ScheduleKind::integers,
                          .doc = "Last step of each rate except the last."},
                         {.name = "values",
                          .kind = ScheduleKind::numbers,
                          .doc = "The rates, one more than boundaries."}},
           .make =
               [](const ScheduleValues& v, const Input& step) {
                 const std::vector<double>& bounds = v.list("boundaries");
                 return piecewise_constant(step, std::vector<int64_t>(bounds.begin(), bounds.end()),
                                           v.list("values"));
               }},
          {.name = "polynomial_decay",
           .doc = "A polynomial from the initial rate to the last.",
           .arguments = {kInitialRate,
                         kDecaySteps,
                         {.name = "end_learning_rate", .usual = 0.0001, .doc = "Final rate."},
                         {.name = "power", .usual = 1, .doc = "Exponent of the polynomial."},
                         {.name = "cycle",
                          .kind = ScheduleKind::flag,
                          .usual = 0,
                          .doc = "Restart after decay_steps."}},
           .make =
               [](const ScheduleValues& v, const Input& step) {
                 return polynomial_decay(v.number("learning_rate"), step, v.number("decay_steps"),
                                         {.end_learning_rate = v.number("end_learning_rate"),
                                          .power = v.number("power"),
                                          .cycle = v.flag("cycle")});
               }},
          {.name = "cosine_decay",
           .doc = "Half a period of a cosine.",
           .arguments = {kInitialRate,
                         kDecaySteps,
                         {.name = "alpha",
                          .usual = 0,
                          .doc = "Final rate as a fraction of the initial rate.",
                          .range = HyperparameterRange::fraction}},
           .make = [](const ScheduleValues& v, const Input& step) {
             return cosine_decay(v.number("learning_rate"), step, v.number("decay_steps"),
                                 {.alpha = v.number("alpha")});
           }}};
}

}  // namespace

const std::vector<ScheduleDef>& schedule_defs() {
  static const std::vector<ScheduleDef> kDefs = make_schedule_defs();
  return kDefs;
}

}  // namespace systole
