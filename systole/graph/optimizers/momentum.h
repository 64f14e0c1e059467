// Gradient descent with momentum: tf.train's, whose slot is the sum of gradients; that of Keras
// (sgd.h) is the last step.
#pragma once

#include "systole/graph/optimizers/update_step.h"

namespace systole {

struct MomentumOptions {
  Hyperparameter momentum = 0;  // the constructor's second argument
  bool use_nesterov = false;
  std::string name = "Momentum";
};

namespace rules {

struct Momentum : OptimizerRule {
  using Options = MomentumOptions;
  using KerasOptions = NoOptions;
  static constexpr auto kSecondArgument = &Options::momentum;

  static std::vector<ArgumentRow<Options, KerasOptions>> arguments() {
    return {{.name = "momentum",
             .train = {"momentum", &Options::momentum},
             .range = HyperparameterRange::fraction,
             .doc = "Fraction of the previous step that is added, from 0 to 1.",
             .required = true},
            {.name = "use_nesterov",
             .train = {"use_nesterov", &Options::use_nesterov},
             .doc = "Use Nesterov momentum."}};
  }

  static std::vector<OptimizerSlot> slots(const OptimizerArguments&, const Shape&) {
    return {{.name = "accum", .train_name = "momentum"}};
  }

  static void update(UpdateStep& u) {
    const Term g = u.gradient();
    const Term momentum = u["momentum"];
    const Term accum = u.assign("accum", momentum * u.slot("accum") + g);
    u.assign(u.variable() - u.rate() * (u.flag("use_nesterov") ? g + momentum * accum : accum));
  }

  static constexpr OptimizerDef def{.name = "Momentum",
                                    .doc = "Gradient descent with momentum.",
                                    .slots = slots,
                                    .update = update,
                                    .op = "Momentum"};
};

}  // namespace rules

// accum = momentum * accum + gradient; var -= learning_rate * accum
// Nesterov: var -= learning_rate * (gradient + momentum * accum)
// (tf.train.MomentumOptimizer) Slot "momentum".
using MomentumOptimizer = OptimizerOf<rules::Momentum>;
namespace train {
using systole::MomentumOptimizer;
}  // namespace train

}  // namespace systole
