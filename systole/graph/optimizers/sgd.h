// Keras's gradient descent, whose slot is the last step.
#pragma once

#include "systole/graph/optimizers/update_step.h"

namespace systole {
namespace keras::optimizers {

struct SGDOptions {
  std::optional<double> lr = std::nullopt;  // 0.01; or the first argument
  double momentum = 0;
  double decay = 0;
  bool nesterov = false;
  double clipnorm = 0;
  double clipvalue = 0;
  bool lazy = false;
};

}  // namespace keras::optimizers

namespace rules {

struct Sgd : OptimizerRule {
  using Options = NoOptions;
  using KerasOptions = keras::optimizers::SGDOptions;

  static std::vector<ArgumentRow<Options, KerasOptions>> arguments() {
    return {{.name = "momentum",
             .keras = {"momentum", &KerasOptions::momentum},
             .range = HyperparameterRange::fraction},
            {.name = "nesterov", .keras = {"nesterov", &KerasOptions::nesterov}}};
  }

  static std::vector<OptimizerSlot> slots(const OptimizerArguments& arguments, const Shape&) {
    if (arguments.number("momentum") == 0) return {};
    return {{.name = "moment"}};
  }

  static void update(UpdateStep& u) {
    const Term p = u.variable();
    const Term step = u.rate() * u.gradient();
    if (!u.has_slot("moment")) return u.assign(p - step);
    const Term momentum = u["momentum"];
    const Term v = u.assign("moment", momentum * u.slot("moment") - step);
    u.assign(u.flag("nesterov") ? p + momentum * v - step : p + v);
  }

  static constexpr OptimizerDef def{
      .name = "SGD", .keras_learning_rate = 0.01, .slots = slots, .update = update};
};

}  // namespace rules

namespace keras::optimizers {
// v = momentum v - lr g; p += v, with nesterov p += momentum v - lr g.
using SGD = OptimizerSpecOf<rules::Sgd>;
}  // namespace keras::optimizers

}  // namespace systole
