// Metrics computed from a confusion matrix.
#pragma once

#include "systole/graph/functions/array_functions.h"
#include "systole/graph/functions/math_functions.h"
#include "systole/train/metrics/metric_def.h"

namespace systole {

namespace metrics {
struct ConfusionMatrixOptions {
  Input labels;       // integers in [0, num_classes)
  Input predictions;  // integers in [0, num_classes)
  int64_t num_classes = 0;
  Input weights = 1.0F;
  std::string name = {};
};
}  // namespace metrics

namespace rules {

inline constexpr std::array kNumClassesArguments = {
    RuleArgument{.name = "num_classes",
                 .kind = RuleArgumentKind::integer,
                 .may_be_missing = true,
                 .doc = "By default the size of the last layer.",
                 .least = 1}};

// f32 counts: exact up to 2^24 for each pair of classes.
inline std::vector<metrics::Sum> confusion_sums(const metrics::Batch& batch) {
  const auto [labels, predictions] = metrics::resolve_pair(batch, DType::s32);
  const int64_t num_classes = batch.arguments.integer("num_classes");
  if (num_classes < 1) {
    throw at_line(
        invalid_argument("{}: num_classes, got {}, expected at least 1", batch.metric, num_classes),
        batch.predictions.where());
  }
  return {{"total_confusion_matrix", confusion_matrix({.labels = labels,
                                                       .predictions = predictions,
                                                       .num_classes = num_classes,
                                                       .dtype = DType::f32,
                                                       .weights = metrics::weights_of(
                                                           batch.metric, labels, batch.weights)})}};
}

struct ConfusionMatrixMetric : MetricRule {
  using Options = metrics::ConfusionMatrixOptions;
  static constexpr std::tuple kMembers{&Options::num_classes};
  static constexpr bool kByPosition = false;

  static constexpr MetricDef def{.name = "confusion_matrix",
                                 .doc = "Counts of label i predicted as class j.",
                                 .inputs = MetricInputs::classes,
                                 .arguments = kNumClassesArguments,
                                 .sums = confusion_sums};
};

struct MeanIouMetric : MetricRule {
  using Options = metrics::ConfusionMatrixOptions;
  static constexpr std::tuple kMembers{&Options::num_classes};
  static constexpr bool kByPosition = false;

  static Output value(const RuleValues&, const std::vector<Output>& sums) {
    const Output& counts = sums[0];
    const Output right = diag_part(counts);
    const Output either = reduce_sum(counts, {.axis = 0}) + reduce_sum(counts, {.axis = 1}) - right;
    const Output seen = to_float(greater(either, 0));
    return metrics::safe_divide(reduce_sum(div_no_nan(right, either)), reduce_sum(seen));
  }

  static constexpr MetricDef def{
      .name = "mean_iou",
      .doc = "The mean intersection over union of the classes that occurred.",
      .inputs = MetricInputs::classes,
      .arguments = kNumClassesArguments,
      .sums = confusion_sums,
      .value = value};
};

struct MeanPerClassAccuracyMetric : MetricRule {
  using Options = metrics::ConfusionMatrixOptions;
  static constexpr std::tuple kMembers{&Options::num_classes};
  static constexpr bool kByPosition = false;

  static Output value(const RuleValues&, const std::vector<Output>& sums) {
    return reduce_mean(div_no_nan(diag_part(sums[0]), reduce_sum(sums[0], {.axis = 1})));
  }

  static constexpr MetricDef def{.name = "mean_per_class_accuracy",
                                 .doc = "The mean of the accuracies of the classes.",
                                 .inputs = MetricInputs::classes,
                                 .arguments = kNumClassesArguments,
                                 .sums = confusion_sums,
                                 .value = value};
};

}  // namespace rules

namespace metrics {
// f32 [num_classes, num_classes]: the number of times that label i was predicted as j.
// (tf.confusion_matrix, streaming)
inline constexpr MetricFunction<rules::ConfusionMatrixMetric> confusion_matrix;
// The mean intersection over union of segmentation, over the classes that occurred.
inline constexpr MetricFunction<rules::MeanIouMetric> mean_iou;
// The mean of the accuracies of the classes; 0 for a class without labels.
inline constexpr MetricFunction<rules::MeanPerClassAccuracyMetric> mean_per_class_accuracy;
}  // namespace metrics

}  // namespace systole
