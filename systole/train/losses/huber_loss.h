// Huber's loss: d^2 / 2 for errors d up to delta, delta * d - delta^2 / 2 beyond.
#pragma once

#include "systole/train/losses/loss_def.h"

namespace systole {

namespace losses {
struct HuberLossOptions {
  Input labels;
  Input predictions;
  Input weights = 1.0F;
  double delta = 1.0;
  Reduction reduction = Reduction::sum_by_nonzero_weights;
  std::string scope = {};
  std::string loss_collection = "losses";
};
}  // namespace losses

namespace keras::losses {
struct HuberOptions {
  double delta = 1.0;
};
}  // namespace keras::losses

namespace rules {

struct HuberLoss : LossRule {
  using Options = losses::HuberLossOptions;
  using KerasOptions = keras::losses::HuberOptions;
  static constexpr std::tuple kMembers{&Options::delta};
  static constexpr std::tuple kKerasMembers{&KerasOptions::delta};
  static constexpr std::array kArguments = {
      RuleArgument{.name = "delta",
                   .usual = 1,
                   .doc = "Error above which the loss is linear.",
                   .range = HyperparameterRange::positive}};

  static Output value(const RuleValues& arguments, const Output& labels,
                      const Output& predictions) {
    const double delta = arguments.number("delta");
    const Output distance = abs(predictions - labels);
    // Quadratic up to delta, linear beyond.
    const Output near = minimum(distance, delta);
    const Output beyond = distance - near;
    return square(near) * 0.5 + beyond * delta;
  }

  static Output keras_value(const RuleValues& arguments, const Output& labels,
                            const Output& predictions) {
    const Output error = abs(predictions - labels);
    const Output small = minimum(error, static_cast<float>(arguments.number("delta")));
    return mean_last(small * (error - small * 0.5F));
  }

  static constexpr LossDef def{
      .name = "huber_loss",
      .keras_name = "huber",
      .keras_aliases = "huber_loss Huber",
      .doc = "For numbers: quadratic for small errors, linear for large ones.",
      .head = LossHead::regression,
      .arguments = kArguments,
      .value = value,
      .keras_value = keras_value};
};

}  // namespace rules

namespace losses {
inline constexpr LossFunction<rules::HuberLoss> huber_loss;
}  // namespace losses

namespace keras::losses {
inline constexpr LossClass<rules::HuberLoss> Huber;  // NOLINT(readability-identifier-naming)
}  // namespace keras::losses

}  // namespace systole
