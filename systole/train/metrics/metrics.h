// Streaming metrics: sums over all the batches of an evaluation. (tf.metrics)
//
//   auto metric = metrics::accuracy({.labels = labels, .predictions = guesses});
//   session.run(metric.update_op, batch)...; session.run(metric.value)
//
// Common to all:
//   * The sums are f32 local variables (collections local_variables and metric_variables) with
//     TensorFlow's names, "accuracy/total". variables_initializer(local_variables()) resets them.
//   * `weights` broadcast to the values as in losses; 0 ignores an example. Examples that pad the
//     last batch of an evaluation have weight 0 (train/example_mask.h).
//   * With several replicas each adds to `accumulators`, which a StepLoop sums
//     (StepLoopOptions::summed): the metric is over the examples of all replicas.
//   * Labels, predictions and weights may be given by position: accuracy(labels, guesses).
//   * Labels and predictions have the same shape, except for a last dimension of 1 on either.
//   * Errors: INVALID_ARGUMENT `<metric>: <what>, got <value>, expected <value>, at <file>:<line>`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "systole/graph/core/variable.h"

namespace systole {

struct Metric {
  Output value;      // from the values of the variables at the start of the run
  Output update_op;  // adds the batch; its value is the metric afterwards
  std::vector<Variable> accumulators = {};
};

namespace metrics {

struct MeanOptions {
  Input values;
  Input weights = 1.0F;
  std::string name = {};
};
// sum(values * weights) / sum(weights); 0 before the first batch. (tf.metrics.mean)
Metric mean(const MeanOptions& options);
inline Metric mean(const Input& values, const Input& weights = 1.0F) {
  return mean(MeanOptions{.values = values, .weights = weights});
}

struct PredictionOptions {
  Input labels;
  Input predictions;
  Input weights = 1.0F;
  std::string name = {};
};
// The fraction of predictions that equal their label.
Metric accuracy(const PredictionOptions& options);
inline Metric accuracy(const Input& labels, const Input& predictions, const Input& weights = 1.0F) {
  return accuracy(
      PredictionOptions{.labels = labels, .predictions = predictions, .weights = weights});
}
Metric mean_squared_error(const PredictionOptions& options);
inline Metric mean_squared_error(const Input& labels, const Input& predictions,
                                 const Input& weights = 1.0F) {
  return mean_squared_error(
      PredictionOptions{.labels = labels, .predictions = predictions, .weights = weights});
}
Metric root_mean_squared_error(const PredictionOptions& options);
inline Metric root_mean_squared_error(const Input& labels, const Input& predictions,
                                      const Input& weights = 1.0F) {
  return root_mean_squared_error(
      PredictionOptions{.labels = labels, .predictions = predictions, .weights = weights});
}
Metric mean_absolute_error(const PredictionOptions& options);
inline Metric mean_absolute_error(const Input& labels, const Input& predictions,
                                  const Input& weights = 1.0F) {
  return mean_absolute_error(
      PredictionOptions{.labels = labels, .predictions = predictions, .weights = weights});
}
// true positives / predicted positives, and true positives / actual positives; 0 for a denominator
// of 0. Labels and predictions other than 0 are positive.
Metric precision(const PredictionOptions& options);
inline Metric precision(const Input& labels, const Input& predictions,
                        const Input& weights = 1.0F) {
  return precision(
      PredictionOptions{.labels = labels, .predictions = predictions, .weights = weights});
}
Metric recall(const PredictionOptions& options);
inline Metric recall(const Input& labels, const Input& predictions, const Input& weights = 1.0F) {
  return recall(
      PredictionOptions{.labels = labels, .predictions = predictions, .weights = weights});
}
Metric true_positives(const PredictionOptions& options);
Metric false_positives(const PredictionOptions& options);
Metric true_negatives(const PredictionOptions& options);
Metric false_negatives(const PredictionOptions& options);

struct AucOptions {
  Input labels;       // truth values
  Input predictions;  // in [0, 1]
  Input weights = 1.0F;
  int64_t num_thresholds = 200;  // at least 2
  std::string curve = "ROC";     // or "PR"
  std::string name = {};
};
// The area under the curve, by the trapezoidal rule over evenly spaced thresholds. (tf.metrics.auc)
Metric auc(const AucOptions& options);
inline Metric auc(const Input& labels, const Input& predictions, const Input& weights = 1.0F) {
  return auc(AucOptions{.labels = labels, .predictions = predictions, .weights = weights});
}

struct AtKOptions {
  Input labels;       // integers, [..] or [.., labels of an example]
  Input predictions;  // floating, [.., classes]
  int64_t k = 1;
  std::optional<int64_t> class_id = std::nullopt;  // only this class counts
  Input weights = 1.0F;                            // scalar or [..]
  std::string name = {};
};
// recall_at_k: the fraction of the labels that are among the k highest predictions. precision_at_k:
// the fraction of the k highest predictions that are labels. A label that is no class never counts
// as found. (tf.metrics.recall_at_k, precision_at_k)
Metric recall_at_k(const AtKOptions& options);
Metric precision_at_k(const AtKOptions& options);

struct ConfusionMatrixOptions {
  Input labels;       // integers in [0, num_classes)
  Input predictions;  // integers in [0, num_classes)
  int64_t num_classes = 0;
  Input weights = 1.0F;
  std::string name = {};
};
// f32 [num_classes, num_classes]: the number of times that label i was predicted as j.
// (tf.confusion_matrix, streaming)
Metric confusion_matrix(const ConfusionMatrixOptions& options);

// The mean intersection over union of segmentation, over the classes that occurred. Counts are f32:
// exact up to 2^24 for each pair of classes. (tf.metrics.mean_iou)
Metric mean_iou(const ConfusionMatrixOptions& options);
// The mean of the accuracies of the classes; 0 for a class without labels.
// (tf.metrics.mean_per_class_accuracy)
Metric mean_per_class_accuracy(const ConfusionMatrixOptions& options);

}  // namespace metrics
}  // namespace systole
