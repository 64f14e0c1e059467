// Losses: how far predictions are from labels, one number for a batch. (tf.losses)
//
// Common to all:
//   * Labels and predictions (logits) have the same shape, unless stated. Weights broadcast to the
//     losses: a scalar, or of the same rank with each dimension equal or 1.
//   * `reduction` reduces the weighted losses to one f32 scalar, which is added to the collection
//     `losses`; get_total_loss() sums the collection.
//   * Labels, predictions and weights may be given by position: mean_squared_error(y, guess).
//   * Examples that pad the last batch of an evaluation have weight 0 (train/example_mask.h).
//   * Errors: INVALID_ARGUMENT `<loss>: <what>, got <value>, expected <value>, at <file>:<line>`.
#pragma once

#include <string>

#include "systole/graph/api/variable.h"

namespace systole::losses {

enum class Reduction : uint8_t {
  none,                    // the weighted losses, not reduced
  sum,                     // their sum
  sum_over_batch_size,     // the sum divided by the number of losses
  mean,                    // the sum divided by the sum of the weights
  sum_by_nonzero_weights,  // the sum divided by the number of weights that are not 0: the default
};

struct WeightedLossOptions {
  Input weights = 1.0F;
  Reduction reduction = Reduction::sum_by_nonzero_weights;
  std::string scope = {};
  std::string loss_collection = "losses";  // none when empty
};

// Weights, reduces and registers losses; for user-defined losses.
// (tf.losses.compute_weighted_loss)
Output compute_weighted_loss(const Input& losses, const WeightedLossOptions& options = {});

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
// onehot_labels, logits: [batch, classes]; weights: scalar, [batch] or [1]. No gradient flows into
// the labels.
Output softmax_cross_entropy(const SoftmaxCrossEntropyOptions& options);
inline Output softmax_cross_entropy(const Input& onehot_labels, const Input& logits,
                                    const Input& weights = 1.0F) {
  return softmax_cross_entropy(SoftmaxCrossEntropyOptions{
      .onehot_labels = onehot_labels, .logits = logits, .weights = weights});
}

struct SparseSoftmaxCrossEntropyOptions {
  Input labels;
  Input logits;
  Input weights = 1.0F;
  Reduction reduction = Reduction::sum_by_nonzero_weights;
  std::string scope = {};
  std::string loss_collection = "losses";
};
// labels: integers in [0, classes), [..] or [.., 1]; logits: [.., classes].
Output sparse_softmax_cross_entropy(const SparseSoftmaxCrossEntropyOptions& options);
inline Output sparse_softmax_cross_entropy(const Input& labels, const Input& logits,
                                           const Input& weights = 1.0F) {
  return sparse_softmax_cross_entropy(
      SparseSoftmaxCrossEntropyOptions{.labels = labels, .logits = logits, .weights = weights});
}

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
// Independent classes: multi_class_labels in [0, 1].
Output sigmoid_cross_entropy(const SigmoidCrossEntropyOptions& options);
inline Output sigmoid_cross_entropy(const Input& multi_class_labels, const Input& logits,
                                    const Input& weights = 1.0F) {
  return sigmoid_cross_entropy(SigmoidCrossEntropyOptions{
      .multi_class_labels = multi_class_labels, .logits = logits, .weights = weights});
}

struct PredictionLossOptions {
  Input labels;
  Input predictions;
  Input weights = 1.0F;
  Reduction reduction = Reduction::sum_by_nonzero_weights;
  std::string scope = {};
  std::string loss_collection = "losses";
};
// (predictions - labels)^2
Output mean_squared_error(const PredictionLossOptions& options);
inline Output mean_squared_error(const Input& labels, const Input& predictions,
                                 const Input& weights = 1.0F) {
  return mean_squared_error(
      PredictionLossOptions{.labels = labels, .predictions = predictions, .weights = weights});
}
// |predictions - labels|
Output absolute_difference(const PredictionLossOptions& options);
inline Output absolute_difference(const Input& labels, const Input& predictions,
                                  const Input& weights = 1.0F) {
  return absolute_difference(
      PredictionLossOptions{.labels = labels, .predictions = predictions, .weights = weights});
}

struct HuberLossOptions {
  Input labels;
  Input predictions;
  Input weights = 1.0F;
  double delta = 1.0;
  Reduction reduction = Reduction::sum_by_nonzero_weights;
  std::string scope = {};
  std::string loss_collection = "losses";
};
// d = |predictions - labels|: d^2 / 2 up to delta, delta * d - delta^2 / 2 beyond.
Output huber_loss(const HuberLossOptions& options);
inline Output huber_loss(const Input& labels, const Input& predictions,
                         const Input& weights = 1.0F) {
  return huber_loss(
      HuberLossOptions{.labels = labels, .predictions = predictions, .weights = weights});
}

struct HingeLossOptions {
  Input labels;
  Input logits;
  Input weights = 1.0F;
  Reduction reduction = Reduction::sum_by_nonzero_weights;
  std::string scope = {};
  std::string loss_collection = "losses";
};
// max(0, 1 - (2 * labels - 1) * logits), labels 0 or 1.
Output hinge_loss(const HingeLossOptions& options);
inline Output hinge_loss(const Input& labels, const Input& logits, const Input& weights = 1.0F) {
  return hinge_loss(HingeLossOptions{.labels = labels, .logits = logits, .weights = weights});
}

struct LogLossOptions {
  Input labels;
  Input predictions;
  Input weights = 1.0F;
  double epsilon = 1e-7;
  Reduction reduction = Reduction::sum_by_nonzero_weights;
  std::string scope = {};
  std::string loss_collection = "losses";
};
// -labels * log(predictions + epsilon) - (1 - labels) * log(1 - predictions + epsilon)
Output log_loss(const LogLossOptions& options);
inline Output log_loss(const Input& labels, const Input& predictions, const Input& weights = 1.0F) {
  return log_loss(LogLossOptions{.labels = labels, .predictions = predictions, .weights = weights});
}

struct CosineDistanceOptions {
  Input labels;
  Input predictions;
  int64_t axis;  // required
  Input weights = 1.0F;
  Reduction reduction = Reduction::sum_by_nonzero_weights;
  std::string scope = {};
  std::string loss_collection = "losses";
};
// 1 - sum(labels * predictions) over `axis`, which is kept with size 1. Both have unit length.
Output cosine_distance(const CosineDistanceOptions& options);

// Adds a loss to those that get_total_loss() sums. (tf.losses.add_loss)
void add_loss(const Output& loss, std::string_view loss_collection = "losses");
std::vector<Output> get_losses(std::string_view scope = {},
                               std::string_view loss_collection = "losses");
std::vector<Output> get_regularization_losses(std::string_view scope = {});
// Returns the sum of the regularization losses; 0 if there are none.
Output get_regularization_loss(std::string_view scope = {});
// The sum of all losses of the current graph, by default with regularisation losses.
// Errors: FAILED_PRECONDITION when there are none.
Output get_total_loss(bool add_regularization_losses = true, std::string_view scope = {});

}  // namespace systole::losses
