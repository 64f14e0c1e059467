// Softmax cross entropy of labels that are one-hot rows.
#pragma once

#include "systole/train/losses/loss_def.h"

namespace systole {

namespace losses {
struct SoftmaxCrossEntropyOptions {
  Input onehot_labels;
  Input logits;
  Input weights = 1.0F;
  // 0 < s <= 1: labels * (1 - s) + s / classes.
  double label_smoothing = 0;
  Reduction reduction = Reduction::sum_by_nonzero_weights;
  std::string scope = {};
  std::string loss_collection = "losses";
};
}  // namespace losses

namespace rules {

struct SoftmaxCrossEntropy : LossRule {
  using Options = losses::SoftmaxCrossEntropyOptions;
  using KerasOptions = keras::losses::CrossentropyOptions;
  static constexpr std::tuple kMembers{&Options::label_smoothing};
  static constexpr std::tuple kKerasMembers{&KerasOptions::label_smoothing,
                                            &KerasOptions::from_logits};
  static constexpr std::array kArguments = {kLabelSmoothing, kFromLogits};

  static Output value(const RuleValues& arguments, const Output& given, const Output& logits) {
    const double smoothing = arguments.number("label_smoothing");
    Output labels = given;
    if (smoothing > 0) {
      const int64_t classes = logits.shape()[logits.shape().rank() - 1];
      labels = labels * (1 - smoothing) + smoothing / static_cast<double>(classes);
    }
    return softmax_cross_entropy_with_logits_v2(
        {.labels = stop_gradient(labels), .logits = logits, .name = "xentropy"});
  }
  static Output keras_value(const RuleValues& arguments, const Output& given,
                            const Output& predictions) {
    const Output labels = smoothed_towards_classes(arguments, given);
    if (arguments.flag("from_logits")) {
      return softmax_cross_entropy_with_logits({.labels = labels, .logits = predictions});
    }
    return negative(sum_last(labels * log(normalized_probabilities(predictions))));
  }

  static constexpr LossDef def{
      .name = "softmax_cross_entropy",
      .keras_name = "categorical_crossentropy",
      .doc = "One of several classes; labels are class numbers or one-hot rows.",
      .scope = "softmax_cross_entropy_loss",
      .head = LossHead::softmax,
      .labels = LossLabels::one_hot,
      .arguments = kArguments,
      .convert = losses::resolve_logits,
      .value = value,
      .keras_value = keras_value};
};

}  // namespace rules

namespace losses {
// onehot_labels, logits: [batch, classes]; weights: scalar, [batch] or [1]. No gradient flows into
// the labels.
inline constexpr LossFunction<rules::SoftmaxCrossEntropy> softmax_cross_entropy;
}  // namespace losses

namespace keras::losses {
inline constexpr LossClass<rules::SoftmaxCrossEntropy>
    CategoricalCrossentropy;  // NOLINT(readability-identifier-naming)
}  // namespace keras::losses

}  // namespace systole
