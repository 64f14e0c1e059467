// Metrics of binary classification: the numbers of true and false positives and negatives, and
// their ratios (precision, recall). A label or prediction is negative if it is 0, else positive.
#pragma once

#include "systole/train/metrics/metric_def.h"

namespace systole {

namespace rules {

// The weighted number of examples of a batch with these truth values.
inline metrics::Sum count_of(const metrics::Batch& batch, std::string name, bool label,
                             bool prediction) {
  const auto [labels, predictions] = metrics::resolve_pair(batch, DType::pred);
  const Output weights = metrics::weights_of(batch.metric, labels, batch.weights);
  const Output both = logical_and(label ? labels : logical_not(labels),
                                  prediction ? predictions : logical_not(predictions));
  return {std::move(name), reduce_sum(where_v2(both, weights, 0))};
}

template <bool label, bool prediction>
constexpr MetricDef count_metric(std::string_view name) {
  return {.name = name,
          .doc = "A count.",
          .inputs = MetricInputs::classes,
          .sums = [](const metrics::Batch& batch) -> std::vector<metrics::Sum> {
            return {count_of(batch, "count", label, prediction)};
          }};
}

struct TruePositivesMetric : MetricRule {
  using Options = metrics::PredictionOptions;
  static constexpr MetricDef def = count_metric<true, true>("true_positives");
};

struct FalsePositivesMetric : MetricRule {
  using Options = metrics::PredictionOptions;
  static constexpr MetricDef def = count_metric<false, true>("false_positives");
};

struct TrueNegativesMetric : MetricRule {
  using Options = metrics::PredictionOptions;
  static constexpr MetricDef def = count_metric<false, false>("true_negatives");
};

struct FalseNegativesMetric : MetricRule {
  using Options = metrics::PredictionOptions;
  static constexpr MetricDef def = count_metric<true, false>("false_negatives");
};

// The sums of true positives and of those that count against them, under TensorFlow's names:
// "precision/true_positives/count".
template <bool other_label>
std::vector<metrics::Sum> ratio_sums(const metrics::Batch& batch) {
  return {count_of(batch, "true_positives/count", true, true),
          count_of(batch, other_label ? "false_negatives/count" : "false_positives/count",
                   other_label, !other_label)};
}

inline Output ratio_of(const RuleValues&, const std::vector<Output>& sums) {
  return metrics::safe_divide(sums[0], sums[0] + sums[1]);
}

struct PrecisionMetric : MetricRule {
  using Options = metrics::PredictionOptions;

  static constexpr MetricDef def{.name = "precision",
                                 .doc = "True positives / predicted positives.",
                                 .inputs = MetricInputs::classes,
                                 .sums = ratio_sums<false>,
                                 .value = ratio_of};
};

struct RecallMetric : MetricRule {
  using Options = metrics::PredictionOptions;

  static constexpr MetricDef def{.name = "recall",
                                 .doc = "True positives / actual positives.",
                                 .inputs = MetricInputs::classes,
                                 .sums = ratio_sums<true>,
                                 .value = ratio_of};
};

}  // namespace rules

namespace metrics {
// true positives / predicted positives, and true positives / actual positives; 0 for a denominator
// of 0.
inline constexpr MetricFunction<rules::PrecisionMetric> precision;
inline constexpr MetricFunction<rules::RecallMetric> recall;
inline constexpr MetricFunction<rules::TruePositivesMetric> true_positives;
inline constexpr MetricFunction<rules::FalsePositivesMetric> false_positives;
inline constexpr MetricFunction<rules::TrueNegativesMetric> true_negatives;
inline constexpr MetricFunction<rules::FalseNegativesMetric> false_negatives;
}  // namespace metrics

}  // namespace systole
