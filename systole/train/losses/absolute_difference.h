// The mean of absolute errors.
#pragma once

#include "systole/train/losses/loss_def.h"

namespace systole {

namespace rules {

struct AbsoluteDifference : LossRule {
  using Options = losses::PredictionLossOptions;

  static Output value(const RuleValues&, const Output& labels, const Output& predictions) {
    return abs(predictions - labels);
  }

  static constexpr LossDef def{.name = "absolute_difference",
                               .keras_name = "mean_absolute_error",
                               .keras_aliases = "mae MAE",
                               .doc = "For numbers.",
                               .head = LossHead::regression,
                               .value = value};
};

}  // namespace rules

namespace losses {
// |predictions - labels|
inline constexpr LossFunction<rules::AbsoluteDifference> absolute_difference;
}  // namespace losses

namespace keras::losses {
inline constexpr LossClass<rules::AbsoluteDifference>
    MeanAbsoluteError;  // NOLINT(readability-identifier-naming)
}  // namespace keras::losses

}  // namespace systole
