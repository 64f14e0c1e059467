// Adafactor: Adam's mean square of a matrix as a product of a row and a column. Source: Shazeer and
// Stern, arXiv 1804.04235, as Keras of TensorFlow 2.15 has it.
#pragma once

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/optimizers/update_step.h"

namespace systole {

struct AdafactorOptions {
  Hyperparameter learning_rate = 0.001;
  Hyperparameter beta2_decay = -0.8;
  Hyperparameter epsilon1 = 1e-30;
  Hyperparameter epsilon2 = 1e-3;
  Hyperparameter clip_threshold = 1.0;
  bool relative_step = true;
  std::string name = "Adafactor";
};

namespace keras::optimizers {

struct AdafactorOptions {
  std::optional<double> lr = std::nullopt;  // 0.001; or the first argument
  double beta_2_decay = -0.8;
  double epsilon_1 = 1e-30;
  double epsilon_2 = 1e-3;
  double clip_threshold = 1;
  bool relative_step = true;
  double clipnorm = 0;
  double clipvalue = 0;
};

}  // namespace keras::optimizers

namespace rules {

struct Adafactor : OptimizerRule {
  using Options = AdafactorOptions;
  using KerasOptions = keras::optimizers::AdafactorOptions;

  static std::vector<ArgumentRow<Options, KerasOptions>> arguments() {
    using enum HyperparameterRange;
    return {{.name = "beta2_decay",
             .train = {"beta2_decay", &Options::beta2_decay},
             .keras = {"beta_2_decay", &KerasOptions::beta_2_decay},
             .range = not_positive,
             .doc = "The mean square decays by 1 - t ^ beta2_decay in step t."},
            {.name = "epsilon1",
             .train = {"epsilon1", &Options::epsilon1},
             .keras = {"epsilon_1", &KerasOptions::epsilon_1},
             .range = not_negative,
             .doc = "Added to the squared gradient."},
            {.name = "epsilon2",
             .train = {"epsilon2", &Options::epsilon2},
             .keras = {"epsilon_2", &KerasOptions::epsilon_2},
             .range = not_negative,
             .doc = "Least root mean square of a parameter, for the size of its steps."},
            {.name = "clip_threshold",
             .train = {"clip_threshold", &Options::clip_threshold},
             .keras = {"clip_threshold", &KerasOptions::clip_threshold},
             .range = positive,
             .doc = "Greatest root mean square of a step before the rate."},
            {.name = "relative_step",
             .train = {"relative_step", &Options::relative_step},
             .keras = {"relative_step", &KerasOptions::relative_step},
             .doc = "Limit the rate to 1 / sqrt(t) in step t."}};
  }

  // r and c of matrices, over their last axes; v of others. Keras keeps v of matrices, too, which
  // nothing reads.
  static std::vector<OptimizerSlot> slots(const OptimizerArguments& arguments,
                                          const Shape& parameter) {
    const bool is_matrix = parameter.rank() >= 2;
    std::vector<OptimizerSlot> all;
    if (is_matrix) {
      Dims column(parameter.begin(), parameter.end() - 2);
      column.push_back(parameter[-1]);
      all = {{.name = "r", .shape = Shape(Dims(parameter.begin(), parameter.end() - 1))},
             {.name = "c", .shape = Shape(std::move(column))}};
    } else if (arguments.in_keras) {
      all = {{.name = "r", .shape = Shape{}, .for_files = true},
             {.name = "c", .shape = Shape{}, .for_files = true}};
    }
    if (!is_matrix || arguments.in_keras) all.push_back({.name = "v"});
    return all;
  }

  static Output rms(const Output& x) { return sqrt(reduce_mean(square(x))); }

  static Term mean_square(UpdateStep& u, const Term& squares, const Term& beta2) {
    const auto average = [&](std::string_view slot, const Term& value) {
      return u.assign(slot, beta2 * u.slot(slot) + (1 - beta2) * value).tensor();
    };
    if (u.variable().tensor().shape().rank() < 2) return average("v", squares);
    const Output r = average("r", reduce_mean(squares.tensor(), {.axis = -1}));
    const Output c = average("c", reduce_mean(squares.tensor(), {.axis = -2}));
    const Output share = r / reduce_mean(r, {.axis = -1, .keepdims = true});
    const Term v = expand_dims(share, -1) * expand_dims(c, -2);
    return u.has_slot("v") ? u.assign("v", v) : v;
  }

  static void update(UpdateStep& u) {
    const Term p = u.variable();
    const Term g = u.gradient();
    const Term root = 1 / sqrt(u.step());
    Term rate = u.rate();
    if (u.flag("relative_step")) rate = minimum(rate, root);
    const Term size = maximum(u["epsilon2"], rms(p.tensor())) * minimum(rate, root);
    const Term beta2 = 1 - pow(u.step(), u["beta2_decay"]);
    const Term v = mean_square(u, square(g) + u["epsilon1"], beta2);
    const Term step = g / sqrt(v);
    const Term clipped = step / maximum(1, rms(step.tensor()) / u["clip_threshold"]);
    u.assign(p - size * clipped);
  }

  static constexpr OptimizerDef def{
      .name = "Adafactor",
      .doc = "Scales by mean squares that are factored into rows and columns.",
      .slots = slots,
      .counts_steps = true,
      .update = update,
      .elementwise = false};
};

}  // namespace rules

// With R and C, means of g^2 + epsilon1 over the last axis and the one before it, as averages r and
// c that decay by beta2 = 1 - t ^ beta2_decay: v = r / mean(r) * c; u = g / sqrt(v);
// var -= max(epsilon2, rms(var)) * rate * u / max(1, rms(u) / clip_threshold).
// Slots "r" and "c" of matrices, "v" of vectors; the scalar "Adafactor/iterations".
using AdafactorOptimizer = OptimizerOf<rules::Adafactor>;
namespace train {
using systole::AdafactorOptimizer;
}  // namespace train
namespace keras::optimizers {
using Adafactor = OptimizerSpecOf<rules::Adafactor>;
}  // namespace keras::optimizers

}  // namespace systole
