// The mean of errors as percentages of the labels.
#pragma once

#include "systole/train/losses/loss_def.h"

namespace systole {

namespace rules {

struct MeanAbsolutePercentageError : LossRule {
  static Output keras_value(const RuleValues&, const Output& labels, const Output& predictions) {
    return mean_last(abs((labels - predictions) / at_least_epsilon(abs(labels)))) * 100.0F;
  }

  static constexpr LossDef def{.name = "mean_absolute_percentage_error",
                               .keras_name = "mean_absolute_percentage_error",
                               .keras_aliases = "mape MAPE",
                               .keras_value = keras_value};
};

}  // namespace rules

namespace keras::losses {
inline constexpr LossClass<rules::MeanAbsolutePercentageError>
    MeanAbsolutePercentageError;  // NOLINT(readability-identifier-naming)
}  // namespace keras::losses

}  // namespace systole
