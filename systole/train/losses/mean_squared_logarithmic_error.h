// The mean of squared differences of log(x + 1).
#pragma once

#include "systole/train/losses/loss_def.h"

namespace systole {

namespace rules {

struct MeanSquaredLogarithmicError : LossRule {
  static Output value(const RuleValues&, const Output& labels, const Output& predictions) {
    return square(log(at_least_epsilon(predictions) + 1.0F) - log(at_least_epsilon(labels) + 1.0F));
  }

  static constexpr LossDef def{.name = "mean_squared_logarithmic_error",
                               .keras_name = "mean_squared_logarithmic_error",
                               .keras_aliases = "msle MSLE",
                               .doc = "For positive numbers: differences of logarithms.",
                               .head = LossHead::regression,
                               .value = value};
};

}  // namespace rules

namespace keras::losses {
inline constexpr LossClass<rules::MeanSquaredLogarithmicError>
    MeanSquaredLogarithmicError;  // NOLINT(readability-identifier-naming)
}  // namespace keras::losses

}  // namespace systole
