// Adamax. Source: Kingma and Ba, arXiv 1412.6980, section 7.
#pragma once

#include "systole/graph/optimizers/adam.h"

namespace systole {
namespace keras::optimizers {

struct AdamaxOptions {
  std::optional<double> lr = std::nullopt;  // 0.002; or the first argument
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  double decay = 0;
  double clipnorm = 0;
  double clipvalue = 0;
  bool lazy = false;
};

}  // namespace keras::optimizers

namespace rules {

struct Adamax : OptimizerRule {
  using Options = NoOptions;
  using KerasOptions = keras::optimizers::AdamaxOptions;
  static std::vector<ArgumentRow<Options, KerasOptions>> arguments() {
    return moment_arguments<Options, KerasOptions>();
  }

  static std::vector<OptimizerSlot> slots(const OptimizerArguments&, const Shape&) {
    return {{.name = "m"}, {.name = "u"}};
  }

  static void update(UpdateStep& u) {
    const Term g = u.gradient();
    const Term beta1 = u["beta1"];
    const Term m = u.assign("m", beta1 * u.slot("m") + (1 - beta1) * g);
    const Term largest = u.assign("u", maximum(u["beta2"] * u.slot("u"), abs(g)));
    const Term rate = u.rate() / (1 - u.power("beta1"));
    u.assign(u.variable() - rate * m / (largest + u["epsilon"]));
  }

  static constexpr OptimizerDef def{.name = "Adamax",
                                    .keras_learning_rate = 0.002,
                                    .keras_2_11_learning_rate = 0.001,
                                    .slots = slots,
                                    .update = update,
                                    .keras_interleaved_slots = 2};
};

}  // namespace rules

namespace keras::optimizers {
// m as Adam; u = max(beta_2 u, |g|); p -= lr / (1 - beta_1^t) m / (u + epsilon).
using Adamax = OptimizerSpecOf<rules::Adamax>;
}  // namespace keras::optimizers

}  // namespace systole
