// Adadelta. Source: Zeiler, arXiv 1212.5701.
#pragma once

#include "systole/graph/optimizers/update_step.h"

namespace systole {

struct AdadeltaOptions {
  Hyperparameter learning_rate = 0.001;  // the paper's is 1
  Hyperparameter rho = 0.95;
  Hyperparameter epsilon = 1e-8;
  std::string name = "Adadelta";
};

namespace keras::optimizers {

struct AdadeltaOptions {
  std::optional<double> lr = std::nullopt;  // 1; or the first argument
  double rho = 0.95;
  double epsilon = 1e-7;
  double decay = 0;
  double clipnorm = 0;
  double clipvalue = 0;
  bool lazy = false;
};

}  // namespace keras::optimizers

namespace rules {

struct Adadelta : OptimizerRule {
  using Options = AdadeltaOptions;
  using KerasOptions = keras::optimizers::AdadeltaOptions;

  static std::vector<ArgumentRow<Options, KerasOptions>> arguments() {
    return {{.name = "rho",
             .train = {"rho", &Options::rho},
             .keras = {"rho", &KerasOptions::rho},
             .range = HyperparameterRange::fraction,
             .doc = "Decay of the mean squares, from 0 to 1."},
            {.name = "epsilon",
             .train = {"epsilon", &Options::epsilon},
             .keras = {"epsilon", &KerasOptions::epsilon},
             .range = HyperparameterRange::not_negative,
             .doc = "Added to the mean squares."}};
  }

  static std::vector<OptimizerSlot> slots(const OptimizerArguments&, const Shape&) {
    return {{.name = "accum"}, {.name = "accum_update"}};
  }

  static void update(UpdateStep& u) {
    const Term g = u.gradient();
    const Term rho = u["rho"];
    const Term epsilon = u["epsilon"];
    const Term before = u.slot("accum_update");
    const Term a = u.assign("accum", rho * u.slot("accum") + (1 - rho) * square(g));
    const Term move = g * sqrt(before + epsilon) / sqrt(a + epsilon);
    u.assign("accum_update", rho * before + (1 - rho) * square(move));
    u.assign(u.variable() - u.rate() * move);
  }

  static constexpr OptimizerDef def{.name = "Adadelta",
                                    .doc = "Scales by the mean squares of gradients and steps.",
                                    .keras_learning_rate = 1,
                                    .keras_2_11_learning_rate = 0.001,
                                    .slots = slots,
                                    .update = update,
                                    .keras_keeps_iterations = false,
                                    .keras_interleaved_slots = 2,
                                    .op = "Adadelta"};
};

}  // namespace rules

// a += (1 - rho)(g^2 - a); u = g sqrt(d + epsilon) / sqrt(a + epsilon); var -= learning_rate u;
// d += (1 - rho)(u^2 - d). (tf.train.AdadeltaOptimizer) Slots "accum", a, and "accum_update", d.
using AdadeltaOptimizer = OptimizerOf<rules::Adadelta>;
namespace train {
using systole::AdadeltaOptimizer;
}  // namespace train
namespace keras::optimizers {
using Adadelta = OptimizerSpecOf<rules::Adadelta>;
}  // namespace keras::optimizers

}  // namespace systole
