// RMSProp. Source: Tieleman and Hinton, COURSERA: Neural Networks for Machine Learning 6.5, 2012;
// centered: Graves, arXiv 1308.0850, equations 38 to 45.
#pragma once

#include "systole/graph/optimizers/update_step.h"

namespace systole {

struct RMSPropOptions {
  Hyperparameter decay = 0.9;
  Hyperparameter momentum = 0.0;
  Hyperparameter epsilon = 1e-10;
  bool centered = false;
  std::string name = "RMSProp";
};

namespace keras::optimizers {

struct RMSpropOptions {
  std::optional<double> lr = std::nullopt;  // 0.001; or the first argument
  double rho = 0.9;
  double epsilon = 1e-7;
  double decay = 0;
  double clipnorm = 0;
  double clipvalue = 0;
  double momentum = 0;
  bool centered = false;         // divides by the variance: a less the square of g's moving average
  bool epsilon_in_root = false;  // sqrt(a + epsilon): TensorFlow from 2.11 on, and with a momentum
  bool lazy = false;             // has a meaning with a momentum only
};

}  // namespace keras::optimizers

namespace rules {

struct RmsProp : OptimizerRule {
  using Options = RMSPropOptions;
  using KerasOptions = keras::optimizers::RMSpropOptions;

  static std::vector<ArgumentRow<Options, KerasOptions>> arguments() {
    using enum HyperparameterRange;
    return {{.name = "rho",
             .train = {"decay", &Options::decay},
             .keras = {"rho", &KerasOptions::rho},
             .range = fraction,
             .doc = "Decay of the mean square, from 0 to 1."},
            {.name = "epsilon",
             .train = {"epsilon", &Options::epsilon},
             .keras = {"epsilon", &KerasOptions::epsilon},
             .range = not_negative,
             .doc = "Added to the mean square."},
            {.name = "momentum",
             .train = {"momentum", &Options::momentum},
             .keras = {"momentum", &KerasOptions::momentum},
             .range = fraction,
             .doc = "As in MomentumOptimizer.",
             .later = true},
            {.name = "centered",
             .train = {"centered", &Options::centered},
             .keras = {"centered", &KerasOptions::centered},
             .doc = "Scale by the variance instead.",
             .later = true},
            {.name = "epsilon_in_root",
             .keras = {"epsilon_in_root", &KerasOptions::epsilon_in_root},
             .later = true}};
  }

  // TensorFlow makes the mean of gradients before the momentum, Keras after it.
  static std::vector<OptimizerSlot> slots(const OptimizerArguments& arguments, const Shape&) {
    const bool keras = arguments.in_keras;
    std::vector<OptimizerSlot> all = {
        {.name = "ms", .train_name = "rms", .initial = keras ? 0.0 : 1.0}};
    if (!keras && arguments.flag("centered")) all.push_back({.name = "mg"});
    if (!keras || arguments.number("momentum") != 0) {
      all.push_back({.name = "mom", .train_name = "momentum"});
    }
    if (keras && arguments.flag("centered")) all.push_back({.name = "mg"});
    return all;
  }

  static void update(UpdateStep& u) {
    const Term g = u.gradient();
    const Term rho = u["rho"];
    const Term epsilon = u["epsilon"];
    Term variance = u.assign("ms", rho * u.slot("ms") + (1 - rho) * square(g));
    if (u.flag("centered")) {
      variance = variance - square(u.assign("mg", rho * u.slot("mg") + (1 - rho) * g));
    }
    const bool inside = !u.in_keras() || u.flag("epsilon_in_root") || u.has_slot("mom");
    const Term root = inside ? sqrt(variance + epsilon) : sqrt(variance) + epsilon;
    const Term step = u.rate() * g / root;
    const bool moves = u.has_slot("mom");
    u.assign(u.variable() - (moves ? u.assign("mom", u["momentum"] * u.slot("mom") + step) : step));
  }

  static constexpr OptimizerDef def{.name = "RMSProp",
                                    .keras_name = "RMSprop",
                                    .doc = "Scales by the mean square of gradients.",
                                    .slots = slots,
                                    .update = update,
                                    .lazy_with = "momentum",
                                    .keras_keeps_iterations = false,
                                    .op = "RMSProp"};
};

}  // namespace rules

// ms += (1 - decay)(g^2 - ms); mom = momentum * mom + learning_rate * g / sqrt(ms + epsilon);
// var -= mom. Centered: mg += (1 - decay)(g - mg), and ms - mg^2 in place of ms under the root.
// (tf.train.RMSPropOptimizer) Slots "rms" (starts at 1), "mg" when centered, and "momentum".
using RMSPropOptimizer = OptimizerOf<rules::RmsProp>;
namespace train {
using systole::RMSPropOptimizer;
}  // namespace train
namespace keras::optimizers {
// With parameter p, gradient g and its mean square a: a = rho * a + (1 - rho) * g^2;
// step = lr * g / (sqrt(a) + epsilon); p -= step. With a momentum, whose slot is v:
// v = momentum * v + step; p -= v. (tf.keras.optimizers.RMSprop)
using RMSprop = OptimizerSpecOf<rules::RmsProp>;
}  // namespace keras::optimizers

}  // namespace systole
