// Adam with decoupled weight decay. Source: Loshchilov and Hutter, arXiv 1711.05101, as Keras of
// TensorFlow 2.15 has it: the decay is multiplied by the learning rate. (That of tf.contrib.opt and
// of TensorFlow Addons is not.)
#pragma once

#include "systole/graph/optimizers/adam.h"

namespace systole {

struct AdamWOptions {
  Hyperparameter learning_rate = 0.001;
  Hyperparameter weight_decay = 0.004;
  Hyperparameter beta1 = 0.9;
  Hyperparameter beta2 = 0.999;
  Hyperparameter epsilon = 1e-7;
  bool amsgrad = false;
  NamePatterns exclude_from_weight_decay = {};
  std::string name = "AdamW";
};

namespace keras::optimizers {

struct AdamWOptions {
  std::optional<double> lr = std::nullopt;  // 0.001; or the first argument
  double weight_decay = 0.004;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  bool amsgrad = false;
  double clipnorm = 0;
  double clipvalue = 0;
  NamePatterns exclude_from_weight_decay = {};
};

}  // namespace keras::optimizers

namespace rules {

struct AdamW : OptimizerRule {
  using Options = AdamWOptions;
  using KerasOptions = keras::optimizers::AdamWOptions;

  static std::vector<ArgumentRow<Options, KerasOptions>> arguments() {
    auto rows = moment_arguments<Options, KerasOptions>();
    rows.push_back({.name = "weight_decay",
                    .train = {"weight_decay", &Options::weight_decay},
                    .keras = {"weight_decay", &KerasOptions::weight_decay},
                    .range = HyperparameterRange::not_negative,
                    .doc = "Fraction of the parameter that a step of rate 1 subtracts."});
    rows.push_back({.name = "amsgrad",
                    .train = {"amsgrad", &Options::amsgrad},
                    .keras = {"amsgrad", &KerasOptions::amsgrad},
                    .doc = "Divide by the greatest mean square so far."});
    rows.push_back(
        {.name = "exclude_from_weight_decay",
         .train = {"exclude_from_weight_decay", &Options::exclude_from_weight_decay},
         .keras = {"exclude_from_weight_decay", &KerasOptions::exclude_from_weight_decay},
         .doc = "Patterns of the names of parameters that do not decay.",
         .later = true});
    return rows;
  }

  static std::vector<OptimizerSlot> slots(const OptimizerArguments& arguments, const Shape&) {
    std::vector<OptimizerSlot> all = {{.name = "m"}, {.name = "v"}};
    if (arguments.flag("amsgrad")) all.push_back({.name = "vhat"});
    return all;
  }

  static void update(UpdateStep& u) {
    const Term p = u.variable();
    const bool decays = !u.matches("exclude_from_weight_decay");
    const Term decayed = decays ? p - p * (u["weight_decay"] * u.rate()) : p;
    u.assign(decayed - adam_step(u));
  }

  static constexpr OptimizerDef def{.name = "AdamW",
                                    .doc = "Adam with decoupled weight decay.",
                                    .slots = slots,
                                    .powers = kBetas,
                                    .update = update,
                                    .keras_interleaved_slots = 2};
};

}  // namespace rules

// var -= learning_rate * weight_decay * var, then Adam's step. Slots "m", "v" and, with amsgrad,
// "vhat"; scalars beta1_power and beta2_power. Every row of a table decays and moves.
using AdamWOptimizer = OptimizerOf<rules::AdamW>;
namespace train {
using systole::AdamWOptimizer;
}  // namespace train
namespace keras::optimizers {
using AdamW = OptimizerSpecOf<rules::AdamW>;
}  // namespace keras::optimizers

}  // namespace systole
