// Follows the regularised leader, near the last step. Source: McMahan et al., "Ad click prediction:
// a view from the trenches", 2013.
#pragma once

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/optimizers/update_step.h"

namespace systole {

struct FtrlOptions {
  double learning_rate_power = -0.5;
  double initial_accumulator_value = 0.1;
  double l1_regularization_strength = 0;
  double l2_regularization_strength = 0;
  std::string name = "Ftrl";
};

namespace rules {

struct Ftrl : OptimizerRule {
  using Options = FtrlOptions;
  using KerasOptions = NoOptions;

  static std::vector<ArgumentRow<Options, KerasOptions>> arguments() {
    using enum HyperparameterRange;
    return {{.name = "lr_power",
             .train = {"learning_rate_power", &Options::learning_rate_power},
             .range = not_positive,
             .doc = "Exponent of the accumulator."},
            {.name = "initial_accumulator_value",
             .train = {"initial_accumulator_value", &Options::initial_accumulator_value},
             .range = not_negative,
             .doc = "Initial value of the accumulator."},
            {.name = "l1",
             .train = {"l1_regularization_strength", &Options::l1_regularization_strength},
             .range = not_negative,
             .doc = "L1 penalty."},
            {.name = "l2",
             .train = {"l2_regularization_strength", &Options::l2_regularization_strength},
             .range = not_negative,
             .doc = "L2 penalty."}};
  }

  static std::vector<OptimizerSlot> slots(const OptimizerArguments& arguments, const Shape&) {
    return {{.name = "accum", .initial = arguments.number("initial_accumulator_value")},
            {.name = "linear"}};
  }

  static void update(UpdateStep& u) {
    const Term g = u.gradient();
    const Term before = u.slot("accum");
    const Term l1 = u["l1"];
    const Term l2 = u["l2"];
    const Term exponent = 0 - u["lr_power"];
    const Term accum = u.assign("accum", before + square(g));
    const Term strength = pow(accum, exponent);
    const Term sigma = (strength - pow(before, exponent)) / u.rate();
    const Term linear = u.assign("linear", u.slot("linear") + (g - sigma * u.variable()));
    const Term curvature = strength / u.rate() + (l2 + l2);
    // What is left of `linear` beyond l1 on either side of 0.
    const Term beyond = maximum(minimum(linear, l1), 0 - l1) - linear;
    // Nothing is 0, also of a curvature of 0: where there was no gradient yet.
    const Output rest = beyond.tensor();
    u.assign(Term(where_v2(equal(rest, 0), 0, rest / curvature.tensor())));
  }

  static constexpr OptimizerDef def{.name = "Ftrl",
                                    .doc = "Follow the regularised leader.",
                                    .slots = slots,
                                    .update = update,
                                    .op = "Ftrl"};
};

}  // namespace rules

// With a = accum ^ -learning_rate_power, before and after accum += g^2:
// linear += g - (a' - a) / learning_rate * var;
// var = (clip(linear, -l1, l1) - linear) / (a' / learning_rate + 2 * l2)
// (tf.train.FtrlOptimizer) Slots "accum" and "linear".
using FtrlOptimizer = OptimizerOf<rules::Ftrl>;
namespace train {
using systole::FtrlOptimizer;
}  // namespace train

}  // namespace systole
