// LARS: momentum with a rate for each parameter, for large batches. Source: You et al., arXiv
// 1708.03888, as tf.contrib.opt.LARSOptimizer has it.
#pragma once

#include "systole/graph/optimizers/trust_ratio.h"
#include "systole/graph/optimizers/update_step.h"

namespace systole {

struct LARSOptions {
  Hyperparameter momentum = 0.9;
  Hyperparameter weight_decay = 0.0001;
  Hyperparameter eeta = 0.001;
  Hyperparameter epsilon = 0.0;
  bool use_nesterov = false;
  NamePatterns skip_list = {};
  std::string name = "LARS";
};

namespace keras::optimizers {

struct LARSOptions {
  std::optional<double> lr = std::nullopt;  // 0.01; or the first argument
  double momentum = 0.9;
  double weight_decay = 0.0001;
  double eeta = 0.001;
  double epsilon = 0;
  double decay = 0;
  bool nesterov = false;
  double clipnorm = 0;
  double clipvalue = 0;
  NamePatterns skip_list = {};
};

}  // namespace keras::optimizers

namespace rules {

struct Lars : OptimizerRule {
  using Options = LARSOptions;
  using KerasOptions = keras::optimizers::LARSOptions;

  static std::vector<ArgumentRow<Options, KerasOptions>> arguments() {
    using enum HyperparameterRange;
    return {{.name = "momentum",
             .train = {"momentum", &Options::momentum},
             .keras = {"momentum", &KerasOptions::momentum},
             .range = fraction,
             .doc = "As in MomentumOptimizer."},
            {.name = "weight_decay",
             .train = {"weight_decay", &Options::weight_decay},
             .keras = {"weight_decay", &KerasOptions::weight_decay},
             .range = not_negative,
             .doc = "Fraction of the parameter that is added to the gradient."},
            {.name = "eeta",
             .train = {"eeta", &Options::eeta},
             .keras = {"eeta", &KerasOptions::eeta},
             .range = not_negative,
             .doc = "Length of a step of rate 1, as a fraction of the parameter's."},
            {.name = "epsilon",
             .train = {"epsilon", &Options::epsilon},
             .keras = {"epsilon", &KerasOptions::epsilon},
             .range = not_negative,
             .doc = "Added to the length of the gradient."},
            {.name = "use_nesterov",
             .train = {"use_nesterov", &Options::use_nesterov},
             .keras = {"nesterov", &KerasOptions::nesterov},
             .doc = "Use Nesterov momentum."},
            {.name = "skip_list",
             .train = {"skip_list", &Options::skip_list},
             .keras = {"skip_list", &KerasOptions::skip_list},
             .doc = "Patterns of the names of parameters with the given rate and no decay.",
             .later = true}};
  }

  static std::vector<OptimizerSlot> slots(const OptimizerArguments&, const Shape&) {
    return {{.name = "momentum"}};
  }

  static void update(UpdateStep& u) {
    const Term p = u.variable();
    Term g = u.gradient();
    Term rate = u.rate();
    if (!u.of_rows() && !u.matches("skip_list")) {
      const Output length = l2_norm(p);
      const Output gradient_length = l2_norm(g);
      const Term decay = u["weight_decay"];
      const Term ratio = u["eeta"] * length / (gradient_length + decay * length + u["epsilon"]);
      rate = rate * trusted(length, gradient_length, ratio);
      g = g + decay * p;
    }
    const Term momentum = u["momentum"];
    const Term accum = u.assign("momentum", momentum * u.slot("momentum") + g);
    u.assign(p - rate * (u.flag("use_nesterov") ? g + momentum * accum : accum));
  }

  static constexpr OptimizerDef def{.name = "LARS",
                                    .doc = "Momentum with a rate for each parameter.",
                                    .keras_learning_rate = 0.01,
                                    .slots = slots,
                                    .update = update,
                                    .rows = UpdatedRows::touched};
};

}  // namespace rules

// rate = learning_rate * eeta |var| / (|g| + weight_decay |var| + epsilon);
// accum = momentum * accum + g + weight_decay * var; var -= rate * accum.
// Of a gradient of rows, as in TensorFlow, Momentum's update of these rows. Slot "momentum".
using LARSOptimizer = OptimizerOf<rules::Lars>;
namespace train {
using systole::LARSOptimizer;
}  // namespace train
namespace keras::optimizers {
using LARS = OptimizerSpecOf<rules::Lars>;
}  // namespace keras::optimizers

}  // namespace systole
