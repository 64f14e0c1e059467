// The cross entropies of independent classes.
#pragma once

#include "systole/train/losses/loss_def.h"

namespace systole {

namespace losses {
struct SigmoidCrossEntropyOptions {
  Input multi_class_labels;
  Input logits;
  Input weights = 1.0F;
  // s > 0: labels * (1 - s) + s / 2.
  double label_smoothing = 0;
  Reduction reduction = Reduction::sum_by_nonzero_weights;
  std::string scope = {};
  std::string loss_collection = "losses";
};
}  // namespace losses

namespace rules {

struct SigmoidCrossEntropy : LossRule {
  using Options = losses::SigmoidCrossEntropyOptions;
  using KerasOptions = keras::losses::CrossentropyOptions;
  static constexpr std::tuple kMembers{&Options::label_smoothing};
  static constexpr std::tuple kKerasMembers{&KerasOptions::label_smoothing,
                                            &KerasOptions::from_logits};
  static constexpr std::array kArguments = {kLabelSmoothing, kFromLogits};

  static Output value(const RuleValues& arguments, const Output& given, const Output& logits) {
    const double smoothing = arguments.number("label_smoothing");
    const Output labels = smoothing > 0 ? given * (1 - smoothing) + 0.5 * smoothing : given;
    return sigmoid_cross_entropy_with_logits(
        {.labels = labels, .logits = logits, .name = "xentropy"});
  }
  static Output keras_value(const RuleValues& arguments, const Output& labels,
                            const Output& predictions) {
    return mean_last(binary_entropies(smoothed_towards_half(arguments, labels), predictions,
                                      arguments.flag("from_logits")));
  }

  static constexpr LossDef def{.name = "sigmoid_cross_entropy",
                               .keras_name = "binary_crossentropy",
                               .doc = "Independent classes; labels are 0 or 1.",
                               .scope = "sigmoid_cross_entropy_loss",
                               .head = LossHead::sigmoid,
                               .arguments = kArguments,
                               .convert = losses::resolve_logits,
                               .value = value,
                               .keras_value = keras_value};
};

}  // namespace rules

namespace losses {
// Independent classes: multi_class_labels in [0, 1].
inline constexpr LossFunction<rules::SigmoidCrossEntropy> sigmoid_cross_entropy;
}  // namespace losses

namespace keras::losses {
inline constexpr LossClass<rules::SigmoidCrossEntropy>
    BinaryCrossentropy;  // NOLINT(readability-identifier-naming)
}  // namespace keras::losses

}  // namespace systole
