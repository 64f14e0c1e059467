// Metrics computed from a confusion matrix.
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/functions/array_functions.h"
#include "systole/graph/functions/math_functions.h"
#include "systole/train/metrics/accumulate.h"

namespace systole::metrics {
namespace {

Metric of_counts(std::string_view metric, const ConfusionMatrixOptions& options,
                 Output (*value_of)(const Output& counts)) {
  const CompositionScope scope(options.predictions, options.name, metric);
  const auto [labels, predictions] =
      resolve_pair(metric, options.labels, options.predictions, DType::s32);
  if (options.num_classes < 1) {
    throw at_line(invalid_argument("{}: num_classes, got {}, expected at least 1", metric,
                                   options.num_classes),
                  options.predictions.where());
  }
  const Output counts =
      systole::confusion_matrix({.labels = labels,
                                 .predictions = predictions,
                                 .num_classes = options.num_classes,
                                 .dtype = DType::f32,
                                 .weights = weights_of(metric, labels, options.weights)});
  return accumulate({{"total_confusion_matrix", counts}},
                    [&](const std::vector<Output>& sums) { return value_of(sums[0]); });
}

}  // namespace

Metric confusion_matrix(const ConfusionMatrixOptions& options) {
  return of_counts("confusion_matrix", options, [](const Output& counts) { return counts; });
}

Metric mean_iou(const ConfusionMatrixOptions& options) {
  return of_counts("mean_iou", options, [](const Output& counts) {
    const Output right = diag_part(counts);
    const Output either = reduce_sum(counts, {.axis = 0}) + reduce_sum(counts, {.axis = 1}) - right;
    const Output seen = to_float(greater(either, 0));
    return safe_divide(reduce_sum(div_no_nan(right, either)), reduce_sum(seen));
  });
}

Metric mean_per_class_accuracy(const ConfusionMatrixOptions& options) {
  return of_counts("mean_per_class_accuracy", options, [](const Output& counts) {
    return reduce_mean(div_no_nan(diag_part(counts), reduce_sum(counts, {.axis = 1})));
  });
}

}  // namespace systole::metrics
