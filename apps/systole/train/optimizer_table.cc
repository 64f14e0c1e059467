// The optimizers of optimizer.h and the schedules of their rates.
#include "apps/systole/train/model_tables.h"
#include "systole/train/learning_rate_decay.h"

namespace systole::app {
namespace {

constexpr ConfigKey kRate = {"learning_rate", "number or schedule", "required",
                             "How far a step goes."};
constexpr ConfigKey kSgdKeys[] = {kRate};
constexpr ConfigKey kMomentumKeys[] = {
    kRate,
    {"momentum", "number", "required", "The part of the last step that is taken again."},
    {"use_nesterov", "boolean", "false", "Nesterov's form."}};
constexpr ConfigKey kAdagradKeys[] = {
    kRate, {"initial_accumulator_value", "number", "0.1", "The sum's first value."}};
constexpr ConfigKey kAdadeltaKeys[] = {
    {"learning_rate", "number or schedule", "0.001", "How far a step goes."},
    {"rho", "number", "0.95", "Decay of the mean squares."},
    {"epsilon", "number", "1e-8", "Added to the mean squares."}};
constexpr ConfigKey kFtrlKeys[] = {
    kRate,
    {"learning_rate_power", "number", "-0.5", "How the rate falls with the sum of squares."},
    {"initial_accumulator_value", "number", "0.1", "The sum's first value."},
    {"l1_regularization_strength", "number", "0", "Makes weights 0."},
    {"l2_regularization_strength", "number", "0", "Makes weights small."}};
constexpr ConfigKey kAdamKeys[] = {
    {"learning_rate", "number or schedule", "0.001", "How far a step goes."},
    {"beta1", "number", "0.9", "Decay of the mean."},
    {"beta2", "number", "0.999", "Decay of the mean square."},
    {"epsilon", "number", "1e-8", "Added to the root."}};
constexpr ConfigKey kRmsPropKeys[] = {kRate,
                                      {"decay", "number", "0.9", "Of the mean square."},
                                      {"momentum", "number", "0", "As MomentumOptimizer's."},
                                      {"epsilon", "number", "1e-10", "Added to the mean square."},
                                      {"centered", "boolean", "false", "By the variance."}};

constexpr ConfigKey kFirst = {"learning_rate", "number", "required", "The first rate."};
constexpr ConfigKey kSteps = {"decay_steps", "integer", "required", "Steps of one decay."};
constexpr ConfigKey kDecay = {"decay_rate", "number", "required", "How much it decays."};
constexpr ConfigKey kStaircase = {"staircase", "boolean", "false", "At once after decay_steps."};
constexpr ConfigKey kDecayKeys[] = {kFirst, kSteps, kDecay, kStaircase};
constexpr ConfigKey kPiecewiseKeys[] = {
    {"boundaries", "list of integers", "required", "Last steps of all rates but the last."},
    {"values", "list of numbers", "required", "The rates."}};
constexpr ConfigKey kPolynomialKeys[] = {
    kFirst,
    kSteps,
    {"end_learning_rate", "number", "0.0001", "The last rate."},
    {"power", "number", "1", "Of the polynomial."},
    {"cycle", "boolean", "false", "Begins anew after decay_steps."}};
constexpr ConfigKey kCosineKeys[] = {
    kFirst, kSteps, {"alpha", "number", "0", "The last rate's part of the first."}};

RateMaker exponential(const ConfigSection& s) {
  return [rate = s.number("learning_rate"), steps = s.integer("decay_steps"),
          decay = s.number("decay_rate"), staircase = s.flag("staircase")]() -> Hyperparameter {
    return exponential_decay(rate, get_global_step(), steps, decay, {.staircase = staircase});
  };
}

RateMaker inverse_time(const ConfigSection& s) {
  return [rate = s.number("learning_rate"), steps = s.integer("decay_steps"),
          decay = s.number("decay_rate"), staircase = s.flag("staircase")]() -> Hyperparameter {
    return inverse_time_decay(rate, get_global_step(), steps, decay, {.staircase = staircase});
  };
}

RateMaker piecewise(const ConfigSection& s) {
  return [boundaries = s.integers("boundaries"), values = s.numbers("values")]() -> Hyperparameter {
    return piecewise_constant(get_global_step(), boundaries, values);
  };
}

RateMaker polynomial(const ConfigSection& s) {
  const PolynomialDecayOptions options{.end_learning_rate = s.number("end_learning_rate", 0.0001),
                                       .power = s.number("power", 1),
                                       .cycle = s.flag("cycle")};
  return [rate = s.number("learning_rate"), steps = s.integer("decay_steps"),
          options]() -> Hyperparameter {
    return polynomial_decay(rate, get_global_step(), steps, options);
  };
}

RateMaker cosine(const ConfigSection& s) {
  return [rate = s.number("learning_rate"), steps = s.integer("decay_steps"),
          alpha = s.number("alpha", 0)]() -> Hyperparameter {
    return cosine_decay(rate, get_global_step(), steps, {.alpha = alpha});
  };
}

constexpr ConfigRow<RateMaker> kSchedules[] = {
    {"exponential_decay", "rate * decay_rate ^ (step / decay_steps).", kDecayKeys, &exponential},
    {"inverse_time_decay", "rate / (1 + decay_rate * step / decay_steps).", kDecayKeys,
     &inverse_time},
    {"piecewise_constant", "One rate after another.", kPiecewiseKeys, &piecewise},
    {"polynomial_decay", "From the first rate to the last.", kPolynomialKeys, &polynomial},
    {"cosine_decay", "Half a period of a cosine.", kCosineKeys, &cosine}};

RateMaker rate_of(const ConfigSection& s) {
  const ConfigNode node = s.require("learning_rate", "a number or a schedule");
  if (node.is_map()) return make_named(node, s.what("learning_rate"), schedule_table());
  return [rate = node.as<double>(s.what("learning_rate"), "a number or a schedule")]() {
    return Hyperparameter(rate);
  };
}

OptimizerMaker gradient_descent(const ConfigSection& s) {
  return [rate = rate_of(s)] { return std::make_shared<GradientDescentOptimizer>(rate()); };
}

OptimizerMaker momentum(const ConfigSection& s) {
  return [rate = rate_of(s), momentum = s.number("momentum"), nesterov = s.flag("use_nesterov")] {
    return std::make_shared<MomentumOptimizer>(rate(), momentum,
                                               MomentumOptions{.use_nesterov = nesterov});
  };
}

OptimizerMaker adagrad(const ConfigSection& s) {
  return [rate = rate_of(s), first = s.number("initial_accumulator_value", 0.1)] {
    return std::make_shared<AdagradOptimizer>(rate(),
                                              AdagradOptions{.initial_accumulator_value = first});
  };
}

// TensorFlow's default where there is none.
RateMaker rate_or_default(const ConfigSection& s) {
  return s.has("learning_rate") ? rate_of(s) : RateMaker([] { return Hyperparameter(0.001); });
}

OptimizerMaker adadelta(const ConfigSection& s) {
  return [rate = rate_or_default(s), rho = s.number("rho", 0.95),
          epsilon = s.number("epsilon", 1e-8)] {
    return std::make_shared<AdadeltaOptimizer>(
        AdadeltaOptions{.learning_rate = rate(), .rho = rho, .epsilon = epsilon});
  };
}

OptimizerMaker ftrl(const ConfigSection& s) {
  const FtrlOptions options{
      .learning_rate_power = s.number("learning_rate_power", -0.5),
      .initial_accumulator_value = s.number("initial_accumulator_value", 0.1),
      .l1_regularization_strength = s.number("l1_regularization_strength", 0),
      .l2_regularization_strength = s.number("l2_regularization_strength", 0)};
  return [rate = rate_of(s), options] { return std::make_shared<FtrlOptimizer>(rate(), options); };
}

OptimizerMaker adam(const ConfigSection& s) {
  const RateMaker rate = rate_or_default(s);
  return [rate, beta1 = s.number("beta1", 0.9), beta2 = s.number("beta2", 0.999),
          epsilon = s.number("epsilon", 1e-8)] {
    return std::make_shared<AdamOptimizer>(
        AdamOptions{.learning_rate = rate(), .beta1 = beta1, .beta2 = beta2, .epsilon = epsilon});
  };
}

OptimizerMaker rms_prop(const ConfigSection& s) {
  const RMSPropOptions options{.decay = s.number("decay", 0.9),
                               .momentum = s.number("momentum", 0),
                               .epsilon = s.number("epsilon", 1e-10),
                               .centered = s.flag("centered")};
  return
      [rate = rate_of(s), options] { return std::make_shared<RMSPropOptimizer>(rate(), options); };
}

constexpr ConfigRow<OptimizerMaker> kOptimizers[] = {
    {"GradientDescentOptimizer", "Against the gradient.", kSgdKeys, &gradient_descent},
    {"MomentumOptimizer", "With momentum.", kMomentumKeys, &momentum},
    {"AdagradOptimizer", "By the sum of squares.", kAdagradKeys, &adagrad},
    {"AdadeltaOptimizer", "By the mean squares of gradients and steps.", kAdadeltaKeys, &adadelta},
    {"FtrlOptimizer", "Follows the regularised leader.", kFtrlKeys, &ftrl},
    {"AdamOptimizer", "By the mean and the mean square.", kAdamKeys, &adam},
    {"RMSPropOptimizer", "By the mean square.", kRmsPropKeys, &rms_prop}};

}  // namespace

std::span<const ConfigRow<OptimizerMaker>> optimizer_table() { return kOptimizers; }
std::span<const ConfigRow<RateMaker>> schedule_table() { return kSchedules; }

}  // namespace systole::app
