// Adagrad. Source: Duchi et al., JMLR 12, 2011.
#pragma once

#include "systole/graph/optimizers/update_step.h"

namespace systole {

struct AdagradOptions {
  double initial_accumulator_value = 0.1;
  std::string name = "Adagrad";
};

namespace keras::optimizers {

struct AdagradOptions {
  std::optional<double> lr = std::nullopt;  // 0.01; or the first argument
  double epsilon = 1e-7;
  double decay = 0;
  double clipnorm = 0;
  double clipvalue = 0;
  double initial_accumulator_value = 0;  // 0.1 by default from TensorFlow 2.0 on
  bool epsilon_in_root = false;          // sqrt(a + epsilon): TensorFlow from 2.11 on
};

}  // namespace keras::optimizers

namespace rules {

struct Adagrad : OptimizerRule {
  using Options = AdagradOptions;
  using KerasOptions = keras::optimizers::AdagradOptions;

  static std::vector<ArgumentRow<Options, KerasOptions>> arguments() {
    return {{.name = "epsilon", .keras = {"epsilon", &KerasOptions::epsilon}},
            {.name = "initial_accumulator_value",
             .train = {"initial_accumulator_value", &Options::initial_accumulator_value},
             .keras = {"initial_accumulator_value", &KerasOptions::initial_accumulator_value},
             .range = HyperparameterRange::positive,
             .doc = "Initial value of the accumulator.",
             .later = true},
            {.name = "epsilon_in_root",
             .keras = {"epsilon_in_root", &KerasOptions::epsilon_in_root},
             .later = true}};
  }

  static std::vector<OptimizerSlot> slots(const OptimizerArguments& arguments, const Shape&) {
    return {{.name = "accum",
             .train_name = "accumulator",
             .initial = arguments.number("initial_accumulator_value")}};
  }

  static void update(UpdateStep& u) {
    const Term g = u.gradient();
    const Term epsilon = u["epsilon"];
    const Term a = u.assign("accum", u.slot("accum") + square(g));
    const Term root = u.flag("epsilon_in_root") ? sqrt(a + epsilon) : sqrt(a) + epsilon;
    u.assign(u.variable() - u.rate() * g / root);
  }

  static constexpr OptimizerDef def{.name = "Adagrad",
                                    .doc = "Scales by the sum of squared gradients.",
                                    .keras_learning_rate = 0.01,
                                    .keras_2_11_learning_rate = 0.001,
                                    .slots = slots,
                                    .update = update,
                                    .keras_keeps_iterations = false,
                                    .op = "Adagrad"};
};

}  // namespace rules

// accum += gradient^2; var -= learning_rate * gradient / sqrt(accum)
// (tf.train.AdagradOptimizer) Slot "accumulator".
using AdagradOptimizer = OptimizerOf<rules::Adagrad>;
namespace train {
using systole::AdagradOptimizer;
}  // namespace train
namespace keras::optimizers {
// With parameter p, gradient g and accumulator a, which starts at initial_accumulator_value:
// a += g^2; p -= lr * g / (sqrt(a) + epsilon). (tf.keras.optimizers.Adagrad)
using Adagrad = OptimizerSpecOf<rules::Adagrad>;
}  // namespace keras::optimizers

}  // namespace systole
