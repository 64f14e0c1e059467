// log(cosh(error)): as the square for small errors, as their size for large ones.
#pragma once

#include "systole/train/losses/loss_def.h"

namespace systole {

namespace rules {

struct LogCosh : LossRule {
  static Output value(const RuleValues&, const Output& labels, const Output& predictions) {
    const Output d = predictions - labels;
    return d + softplus(d * -2.0F) - 0.6931471805599453;
  }

  static constexpr LossDef def{
      .name = "logcosh",
      .keras_name = "logcosh",
      .keras_aliases = "log_cosh",
      .keras_class = "LogCosh",
      .doc = "For numbers: the logarithm of the hyperbolic cosine of errors.",
      .head = LossHead::regression,
      .value = value};
};

}  // namespace rules

namespace keras::losses {
inline constexpr LossClass<rules::LogCosh> LogCosh;  // NOLINT(readability-identifier-naming)
}  // namespace keras::losses

}  // namespace systole
