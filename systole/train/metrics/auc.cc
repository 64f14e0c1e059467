#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/train/metrics/accumulate.h"

namespace systole::metrics {
namespace {

constexpr float kEpsilon = 1e-6F;

// Thresholds, evenly spaced in (0, 1), and one below and one above all predictions.
Tensor thresholds_of(int64_t n) {
  Tensor thresholds(DType::f32, {n, 1});
  const auto values = thresholds.data<float>();
  for (int64_t i = 0; i < n; ++i) {
    values[i] = static_cast<float>(i) / static_cast<float>(n - 1);
  }
  values.front() = -1e-7F;
  values.back() = 1.0F + 1e-7F;
  return thresholds;
}

void check_options(const AucOptions& options) {
  if (options.num_thresholds < 2) {
    throw invalid_argument("auc: num_thresholds, got {}, expected at least 2",
                           options.num_thresholds);
  }
  if (options.curve != "ROC" && options.curve != "PR") {
    throw invalid_argument("auc: curve, got '{}', expected 'ROC' or 'PR'", options.curve);
  }
}

// The trapezoidal rule.
Output area(const Output& x, const Output& y, int64_t n) {
  const auto head = [n](const Output& v) { return slice(v, {0}, {n - 1}); };
  const auto tail = [n](const Output& v) { return slice(v, {1}, {n - 1}); };
  return reduce_sum((head(x) - tail(x)) * (head(y) + tail(y)) * 0.5);
}

// sums: true positives, false negatives, true negatives, false positives at each threshold.
Output area_under_curve(const std::vector<Output>& sums, const AucOptions& options) {
  const Output& tp = sums[0];
  const Output recall = (tp + kEpsilon) / (tp + sums[1] + kEpsilon);
  if (options.curve == "ROC") {
    const Output false_positive_rate = sums[3] / (sums[3] + sums[2] + kEpsilon);
    return area(false_positive_rate, recall, options.num_thresholds);
  }
  const Output precision = (tp + kEpsilon) / (tp + sums[3] + kEpsilon);
  return area(recall, precision, options.num_thresholds);
}

}  // namespace

Metric auc(const AucOptions& options) {
  const CompositionScope scope(options.predictions, options.name, "auc");
  with_op("auc", options.predictions.where(), [&] { check_options(options); });
  const auto [given_labels, given_predictions] =
      resolve_pair("auc", options.labels, options.predictions, DType::f32);
  const Output weights = reshape(weights_of("auc", given_labels, options.weights), {1, -1});
  const Output labels = reshape(not_equal(given_labels, 0), {1, -1});
  const Output predictions = reshape(given_predictions, {1, -1});

  // [thresholds, examples]
  const Output positive = greater(predictions, constant(thresholds_of(options.num_thresholds)));
  const auto count = [&](const Output& label, const Output& answer) {
    return reduce_sum(where_v2(logical_and(label, answer), weights, 0), {.axis = 1});
  };
  const Output negative = logical_not(positive);
  const Output no_labels = logical_not(labels);
  return accumulate(
      {{"true_positives", count(labels, positive)},
       {"false_negatives", count(labels, negative)},
       {"true_negatives", count(no_labels, negative)},
       {"false_positives", count(no_labels, positive)}},
      [&](const std::vector<Output>& sums) { return area_under_curve(sums, options); });
}

}  // namespace systole::metrics
