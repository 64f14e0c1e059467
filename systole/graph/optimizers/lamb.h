// LAMB: Adam whose step has the length of the parameter, for large batches. Source: You et al.,
// arXiv 1904.00962, as TensorFlow Addons 0.23 has it.
#pragma once

#include "systole/graph/optimizers/adam.h"
#include "systole/graph/optimizers/trust_ratio.h"

namespace systole {

struct LAMBOptions {
  Hyperparameter learning_rate = 0.001;
  Hyperparameter weight_decay = 0.0;
  Hyperparameter beta1 = 0.9;
  Hyperparameter beta2 = 0.999;
  Hyperparameter epsilon = 1e-6;
  NamePatterns exclude_from_weight_decay = {};
  NamePatterns exclude_from_layer_adaptation = {};  // those of the decay where it is empty
  std::string name = "LAMB";
};

namespace keras::optimizers {

struct LAMBOptions {
  std::optional<double> lr = std::nullopt;  // 0.001; or the first argument
  double weight_decay = 0;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-6;
  double decay = 0;
  double clipnorm = 0;
  double clipvalue = 0;
  NamePatterns exclude_from_weight_decay = {};
  NamePatterns exclude_from_layer_adaptation = {};  // those of the decay where it is empty
};

}  // namespace keras::optimizers

namespace rules {

struct Lamb : OptimizerRule {
  using Options = LAMBOptions;
  using KerasOptions = keras::optimizers::LAMBOptions;

  static std::vector<ArgumentRow<Options, KerasOptions>> arguments() {
    auto rows = moment_arguments<Options, KerasOptions>();
    rows.push_back({.name = "weight_decay",
                    .train = {"weight_decay", &Options::weight_decay},
                    .keras = {"weight_decay", &KerasOptions::weight_decay},
                    .range = HyperparameterRange::not_negative,
                    .doc = "Fraction of the parameter that is added to the step."});
    rows.push_back(
        {.name = "exclude_from_weight_decay",
         .train = {"exclude_from_weight_decay", &Options::exclude_from_weight_decay},
         .keras = {"exclude_from_weight_decay", &KerasOptions::exclude_from_weight_decay},
         .doc = "Patterns of the names of parameters that do not decay.",
         .later = true});
    rows.push_back(
        {.name = "exclude_from_layer_adaptation",
         .train = {"exclude_from_layer_adaptation", &Options::exclude_from_layer_adaptation},
         .keras = {"exclude_from_layer_adaptation", &KerasOptions::exclude_from_layer_adaptation},
         .doc = "Patterns of those whose rate does not follow their length; by default the same.",
         .later = true});
    return rows;
  }

  static std::vector<OptimizerSlot> slots(const OptimizerArguments&, const Shape&) {
    return {{.name = "m"}, {.name = "v"}};
  }

  static void update(UpdateStep& u) {
    const Term p = u.variable();
    const auto [m, v] = assign_moments(u);
    const Term m_hat = m / (1 - u.power("beta1"));
    const Term v_hat = v / (1 - u.power("beta2"));
    Term step = m_hat / (sqrt(v_hat) + u["epsilon"]);
    if (!u.matches("exclude_from_weight_decay")) step = step + u["weight_decay"] * p;
    Term rate = u.rate();
    const bool adapts =
        !u.matches(u.has_patterns("exclude_from_layer_adaptation") ? "exclude_from_layer_adaptation"
                                                                   : "exclude_from_weight_decay");
    if (adapts) {
      const Output length = l2_norm(p);
      const Output step_length = l2_norm(step);
      rate = trusted(length, step_length, Term(length) / step_length) * rate;
    }
    u.assign(p - rate * step);
  }

  static constexpr OptimizerDef def{.name = "LAMB",
                                    .doc = "Adam with steps of the parameter's length.",
                                    .slots = slots,
                                    .powers = kBetas,
                                    .update = update,
                                    .keras_interleaved_slots = 2};
};

}  // namespace rules

// step = Adam's, with epsilon beside the corrected root, + weight_decay * var;
// var -= learning_rate * |var| / |step| * step. Slots "m" and "v", scalars beta1_power and
// beta2_power. Every row of a table moves.
using LAMBOptimizer = OptimizerOf<rules::Lamb>;
namespace train {
using systole::LAMBOptimizer;
}  // namespace train
namespace keras::optimizers {
using LAMB = OptimizerSpecOf<rules::Lamb>;
}  // namespace keras::optimizers

}  // namespace systole
