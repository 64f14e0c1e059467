// The optimizers of optimizer.h and the schedules of their rates.
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "apps/systole/train/model_tables.h"
#include "systole/train/learning_rate_decay.h"

namespace systole::app {
namespace {

constexpr ConfigKey kRate = {"learning_rate", "number or schedule", "required", "Size of a step."};
constexpr ConfigKey kSgdKeys[] = {kRate};
constexpr ConfigKey kMomentumKeys[] = {
    kRate,
    {"momentum", "number", "required", "Fraction of the previous step that is added, from 0 to 1."},
    {"use_nesterov", "boolean", "false", "Use Nesterov momentum."}};
constexpr ConfigKey kAdagradKeys[] = {
    kRate, {"initial_accumulator_value", "number", "0.1", "Initial value of the accumulator."}};
constexpr ConfigKey kAdadeltaKeys[] = {
    {"learning_rate", "number or schedule", "0.001", "Size of a step."},
    {"rho", "number", "0.95", "Decay of the mean squares, from 0 to 1."},
    {"epsilon", "number", "1e-8", "Added to the mean squares."}};
constexpr ConfigKey kFtrlKeys[] = {
    kRate,
    {"learning_rate_power", "number", "-0.5", "Exponent of the accumulator."},
    {"initial_accumulator_value", "number", "0.1", "Initial value of the accumulator."},
    {"l1_regularization_strength", "number", "0", "L1 penalty."},
    {"l2_regularization_strength", "number", "0", "L2 penalty."}};
constexpr ConfigKey kAdamKeys[] = {
    {"learning_rate", "number or schedule", "0.001", "Size of a step."},
    {"beta1", "number", "0.9", "Decay of the mean, in [0, 1)."},
    {"beta2", "number", "0.999", "Decay of the mean square, in [0, 1)."},
    {"epsilon", "number", "1e-8", "Added to the square root."}};
constexpr ConfigKey kRmsPropKeys[] = {
    kRate,
    {"decay", "number", "0.9", "Decay of the mean square, from 0 to 1."},
    {"momentum", "number", "0", "As in MomentumOptimizer."},
    {"epsilon", "number", "1e-10", "Added to the mean square."},
    {"centered", "boolean", "false", "Scale by the variance instead."}};

constexpr ConfigKey kFirst = {"learning_rate", "number", "required", "Initial rate."};
constexpr ConfigKey kSteps = {"decay_steps", "integer", "required",
                              "Steps of one decay period, at least 1."};
constexpr ConfigKey kDecay = {"decay_rate", "number", "required", "Decay of one period."};
constexpr ConfigKey kStaircase = {"staircase", "boolean", "false",
                                  "Decay at the end of each period only."};
constexpr ConfigKey kDecayKeys[] = {kFirst, kSteps, kDecay, kStaircase};
constexpr ConfigKey kPiecewiseKeys[] = {
    {"boundaries", "list of integers", "required", "Last step of each rate except the last."},
    {"values", "list of numbers", "required", "The rates, one more than boundaries."}};
constexpr ConfigKey kPolynomialKeys[] = {
    kFirst,
    kSteps,
    {"end_learning_rate", "number", "0.0001", "Final rate."},
    {"power", "number", "1", "Exponent of the polynomial."},
    {"cycle", "boolean", "false", "Restart after decay_steps."}};
constexpr ConfigKey kCosineKeys[] = {
    kFirst, kSteps, {"alpha", "number", "0", "Final rate as a fraction of the initial rate."}};

RateMaker exponential(const ConfigSection& s) {
  return [rate = s.number("learning_rate", kNotNegative), steps = s.integer_from("decay_steps", 1),
          decay = s.number("decay_rate", kNotNegative),
          staircase = s.flag("staircase")]() -> Hyperparameter {
    return exponential_decay(rate, get_global_step(), steps, decay, {.staircase = staircase});
  };
}

RateMaker inverse_time(const ConfigSection& s) {
  return [rate = s.number("learning_rate", kNotNegative), steps = s.integer_from("decay_steps", 1),
          decay = s.number("decay_rate", kNotNegative),
          staircase = s.flag("staircase")]() -> Hyperparameter {
    return inverse_time_decay(rate, get_global_step(), steps, decay, {.staircase = staircase});
  };
}

RateMaker piecewise(const ConfigSection& s) {
  const std::vector<int64_t> boundaries = s.integers("boundaries");
  const std::vector<double> values = s.numbers("values", kNotNegative);
  if (values.size() != boundaries.size() + 1) {
    throw s.error("values", fmt::format("{} for {} boundaries", values.size(), boundaries.size()),
                  std::to_string(boundaries.size() + 1));
  }
  if (std::ranges::adjacent_find(boundaries, std::greater_equal<>()) != boundaries.end()) {
    throw s.error("boundaries", fmt::format("[{}]", fmt::join(boundaries, ", ")), "rising steps");
  }
  return [boundaries, values]() -> Hyperparameter {
    return piecewise_constant(get_global_step(), boundaries, values);
  };
}

RateMaker polynomial(const ConfigSection& s) {
  const PolynomialDecayOptions options{
      .end_learning_rate = s.number("end_learning_rate", 0.0001, kNotNegative),
      .power = s.number("power", 1, kNotNegative),
      .cycle = s.flag("cycle")};
  return [rate = s.number("learning_rate", kNotNegative), steps = s.integer_from("decay_steps", 1),
          options]() -> Hyperparameter {
    return polynomial_decay(rate, get_global_step(), steps, options);
  };
}

RateMaker cosine(const ConfigSection& s) {
  return [rate = s.number("learning_rate", kNotNegative), steps = s.integer_from("decay_steps", 1),
          alpha = s.number("alpha", 0, kFraction)]() -> Hyperparameter {
    return cosine_decay(rate, get_global_step(), steps, {.alpha = alpha});
  };
}

constexpr ConfigRow<RateMaker> kSchedules[] = {
    {"exponential_decay", "rate * decay_rate ^ (step / decay_steps).", kDecayKeys, &exponential},
    {"inverse_time_decay", "rate / (1 + decay_rate * step / decay_steps).", kDecayKeys,
     &inverse_time},
    {"piecewise_constant", "A constant rate for each range of steps.", kPiecewiseKeys, &piecewise},
    {"polynomial_decay", "A polynomial from the initial rate to the last.", kPolynomialKeys,
     &polynomial},
    {"cosine_decay", "Half a period of a cosine.", kCosineKeys, &cosine}};

RateMaker rate_of(const ConfigSection& s) {
  const ConfigNode node = s.require("learning_rate", "a number or a schedule");
  if (node.is_map()) return make_named(node, s.what("learning_rate"), schedule_table());
  const double rate =
      number_of(node, s.what("learning_rate"), "a number or a schedule", kNotNegative);
  return [rate]() { return Hyperparameter(rate); };
}

OptimizerMaker gradient_descent(const ConfigSection& s) {
  return [rate = rate_of(s)] { return std::make_shared<GradientDescentOptimizer>(rate()); };
}

OptimizerMaker momentum(const ConfigSection& s) {
  return [rate = rate_of(s), momentum = s.number("momentum", kFraction),
          nesterov = s.flag("use_nesterov")] {
    return std::make_shared<MomentumOptimizer>(rate(), momentum,
                                               MomentumOptions{.use_nesterov = nesterov});
  };
}

OptimizerMaker adagrad(const ConfigSection& s) {
  return [rate = rate_of(s), first = s.number("initial_accumulator_value", 0.1, kNotNegative)] {
    return std::make_shared<AdagradOptimizer>(rate(),
                                              AdagradOptions{.initial_accumulator_value = first});
  };
}

// The rate of the section, or TensorFlow's default.
RateMaker rate_or_default(const ConfigSection& s) {
  return s.has("learning_rate") ? rate_of(s) : RateMaker([] { return Hyperparameter(0.001); });
}

OptimizerMaker adadelta(const ConfigSection& s) {
  return [rate = rate_or_default(s), rho = s.number("rho", 0.95, kFraction),
          epsilon = s.number("epsilon", 1e-8, kNotNegative)] {
    return std::make_shared<AdadeltaOptimizer>(
        AdadeltaOptions{.learning_rate = rate(), .rho = rho, .epsilon = epsilon});
  };
}

OptimizerMaker ftrl(const ConfigSection& s) {
  const FtrlOptions options{
      .learning_rate_power = s.number("learning_rate_power", -0.5),
      .initial_accumulator_value = s.number("initial_accumulator_value", 0.1, kNotNegative),
      .l1_regularization_strength = s.number("l1_regularization_strength", 0, kNotNegative),
      .l2_regularization_strength = s.number("l2_regularization_strength", 0, kNotNegative)};
  return [rate = rate_of(s), options] { return std::make_shared<FtrlOptimizer>(rate(), options); };
}

OptimizerMaker adam(const ConfigSection& s) {
  const RateMaker rate = rate_or_default(s);
  return
      [rate, beta1 = s.number("beta1", 0.9, kBelowOne), beta2 = s.number("beta2", 0.999, kBelowOne),
       epsilon = s.number("epsilon", 1e-8, kNotNegative)] {
        return std::make_shared<AdamOptimizer>(AdamOptions{
            .learning_rate = rate(), .beta1 = beta1, .beta2 = beta2, .epsilon = epsilon});
      };
}

OptimizerMaker rms_prop(const ConfigSection& s) {
  const RMSPropOptions options{.decay = s.number("decay", 0.9, kFraction),
                               .momentum = s.number("momentum", 0, kFraction),
                               .epsilon = s.number("epsilon", 1e-10, kNotNegative),
                               .centered = s.flag("centered")};
  return
      [rate = rate_of(s), options] { return std::make_shared<RMSPropOptimizer>(rate(), options); };
}

constexpr ConfigRow<OptimizerMaker> kOptimizers[] = {
    {"GradientDescentOptimizer", "Plain gradient descent.", kSgdKeys, &gradient_descent},
    {"MomentumOptimizer", "Gradient descent with momentum.", kMomentumKeys, &momentum},
    {"AdagradOptimizer", "Scales by the sum of squared gradients.", kAdagradKeys, &adagrad},
    {"AdadeltaOptimizer", "Scales by the mean squares of gradients and steps.", kAdadeltaKeys,
     &adadelta},
    {"FtrlOptimizer", "Follow the regularised leader.", kFtrlKeys, &ftrl},
    {"AdamOptimizer", "Adaptive moments.", kAdamKeys, &adam},
    {"RMSPropOptimizer", "Scales by the mean square of gradients.", kRmsPropKeys, &rms_prop}};

}  // namespace

std::span<const ConfigRow<OptimizerMaker>> optimizer_table() { return kOptimizers; }
std::span<const ConfigRow<RateMaker>> schedule_table() { return kSchedules; }

}  // namespace systole::app
