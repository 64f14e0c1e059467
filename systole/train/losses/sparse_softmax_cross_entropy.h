// Softmax cross entropy of labels that are class numbers.
#pragma once

#include "systole/graph/core/composition.h"
#include "systole/train/losses/loss_def.h"

namespace systole {

namespace losses {
struct SparseSoftmaxCrossEntropyOptions {
  Input labels;
  Input logits;
  Input weights = 1.0F;
  Reduction reduction = Reduction::sum_by_nonzero_weights;
  std::string scope = {};
  std::string loss_collection = "losses";
};
}  // namespace losses

namespace keras::losses {
struct SparseCrossentropyOptions {
  bool from_logits = false;
};
}  // namespace keras::losses

namespace rules {

struct SparseSoftmaxCrossEntropy : LossRule {
  using Options = losses::SparseSoftmaxCrossEntropyOptions;
  using KerasOptions = keras::losses::SparseCrossentropyOptions;
  static constexpr std::tuple kKerasMembers{&KerasOptions::from_logits};
  static constexpr std::array kArguments = {kFromLogits};

  static LossPair convert(std::string_view loss, const Input& given, const Input& predictions) {
    const Output logits = resolve_as(loss, predictions, DTypeClass::floating);
    Output labels = resolve(loss, given);
    const int rank = labels.shape().rank();
    if (rank == logits.shape().rank() && rank > 0 && labels.shape()[rank - 1] == 1) {
      labels = squeeze(labels, {.axis = rank - 1});
    }
    return {labels, logits};
  }
  static Output value(const RuleValues&, const Output& labels, const Output& logits) {
    return sparse_softmax_cross_entropy_with_logits(
        {.labels = labels, .logits = logits, .name = "xentropy"});
  }
  static Output keras_value(const RuleValues& arguments, const Output& labels,
                            const Output& predictions) {
    const Output numbers = class_numbers(labels, predictions);
    const Output logits =
        arguments.flag("from_logits") ? predictions : log(clip_probability(predictions));
    return sparse_softmax_cross_entropy_with_logits({.labels = numbers, .logits = logits});
  }

  static constexpr LossDef def{.name = "sparse_softmax_cross_entropy",
                               .keras_name = "sparse_categorical_crossentropy",
                               .doc = "One of several classes; labels are class numbers.",
                               .scope = "sparse_softmax_cross_entropy_loss",
                               .head = LossHead::softmax,
                               .labels = LossLabels::class_numbers,
                               .arguments = kArguments,
                               .convert = convert,
                               .value = value,
                               .keras_value = keras_value};
};

}  // namespace rules

namespace losses {
// labels: integers in [0, classes), [..] or [.., 1]; logits: [.., classes].
inline constexpr LossFunction<rules::SparseSoftmaxCrossEntropy> sparse_softmax_cross_entropy;
}  // namespace losses

namespace keras::losses {
inline constexpr LossClass<rules::SparseSoftmaxCrossEntropy>
    SparseCategoricalCrossentropy;  // NOLINT(readability-identifier-naming)
}  // namespace keras::losses

}  // namespace systole
