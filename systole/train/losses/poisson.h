// Poisson's loss, of counts.
#pragma once

#include "systole/train/losses/loss_def.h"

namespace systole {

namespace rules {

struct Poisson : LossRule {
  static Output value(const RuleValues&, const Output& labels, const Output& predictions) {
    return predictions - labels * log(predictions + kKerasEpsilon);
  }

  static constexpr LossDef def{.name = "poisson",
                               .keras_name = "poisson",
                               .doc = "For counts: predictions are expected numbers.",
                               .head = LossHead::regression,
                               .value = value};
};

}  // namespace rules

namespace keras::losses {
inline constexpr LossClass<rules::Poisson> Poisson;  // NOLINT(readability-identifier-naming)
}  // namespace keras::losses

}  // namespace systole
