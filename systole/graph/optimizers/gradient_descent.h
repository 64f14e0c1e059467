// Plain gradient descent. tf.train's, which keeps nothing; Keras's is in sgd.h.
#pragma once

#include "systole/graph/optimizers/update_step.h"

namespace systole {

struct GradientDescentOptions {
  std::string name = "GradientDescent";
};

namespace rules {

struct GradientDescent : OptimizerRule {
  using Options = GradientDescentOptions;
  using KerasOptions = NoOptions;
  static std::vector<ArgumentRow<Options, KerasOptions>> arguments() { return {}; }
  static void update(UpdateStep& u) { u.assign(u.variable() - u.rate() * u.gradient()); }

  static constexpr OptimizerDef def{.name = "GradientDescent",
                                    .doc = "Plain gradient descent.",
                                    .update = update,
                                    .op = "GradientDescent",
                                    .adds_gradient = true};
};

}  // namespace rules

// var -= learning_rate * gradient. (tf.train.GradientDescentOptimizer)
using GradientDescentOptimizer = OptimizerOf<rules::GradientDescent>;
namespace train {
using systole::GradientDescentOptimizer;
}  // namespace train

}  // namespace systole
