// Adam. Source: Kingma and Ba, arXiv 1412.6980, the formulation before section 2.1 ("epsilon hat");
// amsgrad: Reddi et al., ICLR 2018.
#pragma once

#include <array>

#include "systole/graph/optimizers/update_step.h"

namespace systole {

struct AdamOptions {
  Hyperparameter learning_rate = 0.001;
  Hyperparameter beta1 = 0.9;
  Hyperparameter beta2 = 0.999;
  Hyperparameter epsilon = 1e-8;
  std::string name = "Adam";
};

namespace keras::optimizers {

struct AdamOptions {
  std::optional<double> lr = std::nullopt;  // 0.001; or the first argument
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  double decay = 0;
  bool amsgrad = false;
  double clipnorm = 0;
  double clipvalue = 0;
};

}  // namespace keras::optimizers

namespace rules {

// What the optimizers with Adam's moments share. O and K: options of tf.train and of Keras.
inline constexpr std::array<std::string_view, 2> kBetas = {"beta1", "beta2"};

template <class O, class K>
std::vector<ArgumentRow<O, K>> moment_arguments() {
  using enum HyperparameterRange;
  std::vector<ArgumentRow<O, K>> rows = {{.name = "beta1",
                                          .keras = {"beta_1", &K::beta_1},
                                          .range = below_one,
                                          .doc = "Decay of the mean, in [0, 1)."},
                                         {.name = "beta2",
                                          .keras = {"beta_2", &K::beta_2},
                                          .range = below_one,
                                          .doc = "Decay of the mean square, in [0, 1)."},
                                         {.name = "epsilon",
                                          .keras = {"epsilon", &K::epsilon},
                                          .range = not_negative,
                                          .doc = "Added to the square root."}};
  if constexpr (!std::is_same_v<O, NoOptions>) {
    rows[0].train = {"beta1", &O::beta1};
    rows[1].train = {"beta2", &O::beta2};
    rows[2].train = {"epsilon", &O::epsilon};
  }
  return rows;
}

// m = beta1 m + (1 - beta1) g, and v of g^2 likewise. Returns their new values.
inline std::pair<Term, Term> assign_moments(UpdateStep& u) {
  const Term g = u.gradient();
  const Term beta1 = u["beta1"];
  const Term beta2 = u["beta2"];
  return {u.assign("m", beta1 * u.slot("m") + (1 - beta1) * g),
          u.assign("v", beta2 * u.slot("v") + (1 - beta2) * square(g))};
}

// What Adam subtracts from the parameter.
inline Term adam_step(UpdateStep& u) {
  // One scalar corrects the bias of both moments.
  const Term rate = u.rate() * (sqrt(1 - u.power("beta2")) / (1 - u.power("beta1")));
  const auto [m, v] = assign_moments(u);
  const Term largest = u.flag("amsgrad") ? u.assign("vhat", maximum(u.slot("vhat"), v)) : v;
  const Term beta1 = u["beta1"];
  const Term mean = u.flag("use_nesterov") ? beta1 * m + (1 - beta1) * u.gradient() : m;
  return rate * mean / (sqrt(largest) + u["epsilon"]);
}

struct Adam : OptimizerRule {
  using Options = AdamOptions;
  using KerasOptions = keras::optimizers::AdamOptions;

  static std::vector<ArgumentRow<Options, KerasOptions>> arguments() {
    auto rows = moment_arguments<Options, KerasOptions>();
    rows.push_back({.name = "amsgrad", .keras = {"amsgrad", &KerasOptions::amsgrad}});
    return rows;
  }

  static std::vector<OptimizerSlot> slots(const OptimizerArguments& arguments, const Shape&) {
    std::vector<OptimizerSlot> all = {{.name = "m"}, {.name = "v"}};
    if (!arguments.in_keras) return all;
    // Files have a slot for the maximum also where it is not in use, of one element.
    all.push_back({.name = "vhat"});
    if (!arguments.flag("amsgrad")) all.back() = {"vhat", "vhat", 0, Shape{1}, true};
    return all;
  }

  static void update(UpdateStep& u) { u.assign(u.variable() - adam_step(u)); }

  static constexpr OptimizerDef def{.name = "Adam",
                                    .doc = "Adaptive moments.",
                                    .slots = slots,
                                    .powers = kBetas,
                                    .update = update,
                                    .keras_interleaved_slots = 2,
                                    .op = "Adam"};
};

}  // namespace rules

// m += (1 - beta1)(g - m); v += (1 - beta2)(g^2 - v);
// var -= learning_rate * sqrt(1 - beta2^t) / (1 - beta1^t) * m / (sqrt(v) + epsilon)
// (tf.train.AdamOptimizer) Slots "m" and "v", scalars beta1_power and beta2_power.
using AdamOptimizer = OptimizerOf<rules::Adam>;
namespace train {
using systole::AdamOptimizer;
}  // namespace train
namespace keras::optimizers {
using Adam = OptimizerSpecOf<rules::Adam>;
}  // namespace keras::optimizers

}  // namespace systole
