#include "systole/graph/array_ops.h"
#include "systole/graph/math_ops.h"
#include "systole/train/metrics/accumulate.h"

namespace systole::metrics {

Metric confusion_matrix(const ConfusionMatrixOptions& options) {
  constexpr std::string_view kMetric = "confusion_matrix";
  const CompositionScope scope(options.predictions, options.name, kMetric);
  if (options.num_classes < 1) {
    throw at_line(invalid_argument("confusion_matrix: num_classes, got {}, expected at least 1",
                                   options.num_classes),
                  options.predictions.where());
  }
  const auto [labels, predictions] =
      resolve_pair(kMetric, options.labels, options.predictions, DType::s32);
  const Output weights = reshape(weights_of(kMetric, labels, options.weights), {-1, 1});
  const auto rows = [&](const Output& classes) {
    return one_hot(reshape(classes, {-1}), options.num_classes);
  };
  const Output counts = matmul(rows(labels) * weights, rows(predictions), {.transpose_a = true});
  return accumulate({{"total_confusion_matrix", counts}},
                    [](const std::vector<Output>& sums) { return sums[0]; });
}

}  // namespace systole::metrics
