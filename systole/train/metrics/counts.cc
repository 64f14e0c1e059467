// Counts of a binary classification (true positives and so on), and their ratios.
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/train/metrics/accumulate.h"

namespace systole::metrics {
namespace {

// The weighted number of examples of this batch with these truth values.
class Counts {
 public:
  Counts(std::string_view metric, const PredictionOptions& options) {
    const auto [labels, predictions] =
        resolve_pair(metric, options.labels, options.predictions, DType::pred);
    labels_ = labels;
    predictions_ = predictions;
    weights_ = weights_of(metric, labels, options.weights);
  }

  Output of(bool label, bool prediction) const {
    const Output both = logical_and(label ? labels_ : logical_not(labels_),
                                    prediction ? predictions_ : logical_not(predictions_));
    return reduce_sum(where_v2(both, weights_, 0));
  }

 private:
  Output labels_;
  Output predictions_;
  Output weights_;
};

Metric count(std::string_view metric, const PredictionOptions& options, bool label,
             bool prediction) {
  const CompositionScope scope(options.predictions, options.name, metric);
  const Counts counts(metric, options);
  return accumulate({{"count", counts.of(label, prediction)}},
                    [](const std::vector<Output>& sums) { return sums[0]; });
}

// True positives / (true positives + `other`).
Metric ratio(std::string_view metric, const PredictionOptions& options, const char* other,
             bool other_label) {
  const CompositionScope scope(options.predictions, options.name, metric);
  const Counts counts(metric, options);
  // Variables are named as in TensorFlow: "precision/true_positives/count".
  return accumulate(
      {{"true_positives/count", counts.of(true, true)},
       {std::string(other) + "/count", counts.of(other_label, !other_label)}},
      [](const std::vector<Output>& sums) { return safe_divide(sums[0], sums[0] + sums[1]); });
}

}  // namespace

Metric true_positives(const PredictionOptions& options) {
  return count("true_positives", options, true, true);
}
Metric false_positives(const PredictionOptions& options) {
  return count("false_positives", options, false, true);
}
Metric true_negatives(const PredictionOptions& options) {
  return count("true_negatives", options, false, false);
}
Metric false_negatives(const PredictionOptions& options) {
  return count("false_negatives", options, true, false);
}

Metric precision(const PredictionOptions& options) {
  return ratio("precision", options, "false_positives", false);
}
Metric recall(const PredictionOptions& options) {
  return ratio("recall", options, "false_negatives", true);
}

}  // namespace systole::metrics
