// The mean of squared errors.
#pragma once

#include "systole/train/losses/loss_def.h"

namespace systole {

namespace rules {

struct MeanSquaredError : LossRule {
  using Options = losses::PredictionLossOptions;

  static Output value(const RuleValues&, const Output& labels, const Output& predictions) {
    return squared_difference(predictions, labels);
  }

  static constexpr LossDef def{.name = "mean_squared_error",
                               .keras_name = "mean_squared_error",
                               .keras_aliases = "mse MSE",
                               .doc = "For numbers.",
                               .head = LossHead::regression,
                               .value = value};
};

}  // namespace rules

namespace losses {
// (predictions - labels)^2
inline constexpr LossFunction<rules::MeanSquaredError> mean_squared_error;
}  // namespace losses

namespace keras::losses {
inline constexpr LossClass<rules::MeanSquaredError>
    MeanSquaredError;  // NOLINT(readability-identifier-naming)
}  // namespace keras::losses

}  // namespace systole
