// The divergence of two distributions.
#pragma once

#include "systole/train/losses/loss_def.h"

namespace systole {

namespace rules {

struct KullbackLeiblerDivergence : LossRule {
  static Output keras_value(const RuleValues&, const Output& labels, const Output& predictions) {
    const Output target = clip_by_value(labels, kKerasEpsilon, 1.0F);
    return sum_last(target * log(target / clip_by_value(predictions, kKerasEpsilon, 1.0F)));
  }

  static constexpr LossDef def{.name = "kullback_leibler_divergence",
                               .keras_name = "kullback_leibler_divergence",
                               .keras_aliases = "kld KLD kl_divergence",
                               .keras_class = "KLDivergence",
                               .keras_value = keras_value};
};

}  // namespace rules

namespace keras::losses {
inline constexpr LossClass<rules::KullbackLeiblerDivergence>
    KLDivergence;  // NOLINT(readability-identifier-naming)
}  // namespace keras::losses

}  // namespace systole
