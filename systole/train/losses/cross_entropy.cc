#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/nn_ops.h"
#include "systole/train/losses/common.h"

namespace systole::losses {

Output softmax_cross_entropy(const SoftmaxCrossEntropyOptions& options) {
  constexpr std::string_view kLoss = "softmax_cross_entropy";
  const CompositionScope scope(options.logits, options.scope, "softmax_cross_entropy_loss");
  check_label_smoothing(kLoss, options.logits, options.label_smoothing);
  const Output logits = resolve_as(kLoss, options.logits, DTypeClass::floating);
  Output labels = cast(resolve(kLoss, options.onehot_labels, logits.dtype()), logits.dtype());
  if (options.label_smoothing > 0) {
    const int64_t classes = logits.shape()[logits.shape().rank() - 1];
    const double rest = options.label_smoothing / static_cast<double>(classes);
    labels = labels * (1 - options.label_smoothing) + rest;
  }
  return weighted(softmax_cross_entropy_with_logits_v2(
                      {.labels = stop_gradient(labels), .logits = logits, .name = "xentropy"}),
                  options);
}

Output sparse_softmax_cross_entropy(const SparseSoftmaxCrossEntropyOptions& options) {
  constexpr std::string_view kLoss = "sparse_softmax_cross_entropy";
  const CompositionScope scope(options.logits, options.scope, "sparse_softmax_cross_entropy_loss");
  const Output logits = resolve_as(kLoss, options.logits, DTypeClass::floating);
  Output labels = resolve(kLoss, options.labels);
  const int rank = labels.shape().rank();
  if (rank == logits.shape().rank() && rank > 0 && labels.shape()[rank - 1] == 1) {
    labels = squeeze(labels, {.axis = rank - 1});
  }
  return weighted(sparse_softmax_cross_entropy_with_logits(
                      {.labels = labels, .logits = logits, .name = "xentropy"}),
                  options);
}

Output sigmoid_cross_entropy(const SigmoidCrossEntropyOptions& options) {
  constexpr std::string_view kLoss = "sigmoid_cross_entropy";
  const CompositionScope scope(options.logits, options.scope, "sigmoid_cross_entropy_loss");
  check_label_smoothing(kLoss, options.logits, options.label_smoothing);
  const Output logits = resolve_as(kLoss, options.logits, DTypeClass::floating);
  Output labels = cast(resolve(kLoss, options.multi_class_labels, logits.dtype()), logits.dtype());
  if (options.label_smoothing > 0) {
    labels = labels * (1 - options.label_smoothing) + 0.5 * options.label_smoothing;
  }
  return weighted(
      sigmoid_cross_entropy_with_logits({.labels = labels, .logits = logits, .name = "xentropy"}),
      options);
}

}  // namespace systole::losses
