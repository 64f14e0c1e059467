#include "systole/train/metrics/thresholds.h"

namespace systole::rules {
namespace {

constexpr double kThresholdEpsilon = 1e-7;
constexpr float kAreaEpsilon = 1e-6F;

std::vector<float> thresholds_of(const RuleValues& arguments) {
  if (arguments.has("thresholds")) {
    const std::vector<double>& given = arguments.list("thresholds");
    return {given.begin(), given.end()};
  }
  const int64_t n = arguments.integer("num_thresholds");
  if (n < 2) throw invalid_argument("num_thresholds, got {}, expected at least 2", n);
  std::vector<float> values;
  for (int64_t i = 0; i < n; ++i) {
    values.push_back(static_cast<float>(i) / static_cast<float>(n - 1));
  }
  values.front() = -1e-7F;
  values.back() = 1.0F + 1e-7F;
  return values;
}

void check_arguments(const RuleValues& arguments) {
  if (!arguments.texts.contains("curve")) return;
  const std::string& curve = arguments.text("curve");
  if (curve == "ROC" || curve == "PR") return;
  throw invalid_argument("curve, got '{}', expected 'ROC' or 'PR'", curve);
}

// The trapezoidal rule.
Output area(const Output& x, const Output& y, int64_t n) {
  const auto head = [n](const Output& v) { return slice(v, {0}, {n - 1}); };
  const auto tail = [n](const Output& v) { return slice(v, {1}, {n - 1}); };
  return reduce_sum((head(x) - tail(x)) * (head(y) + tail(y)) * 0.5);
}

// The parts of right answers among the positive and among the negative labels.
Output sensitivities(const std::vector<Output>& sums) {
  return sums[0] / (sums[0] + sums[1] + kThresholdEpsilon);
}
Output specificities(const std::vector<Output>& sums) {
  return sums[2] / (sums[2] + sums[3] + kThresholdEpsilon);
}

}  // namespace

std::vector<metrics::Sum> threshold_sums(const metrics::Batch& batch,
                                         std::initializer_list<CountAtThresholds> counts) {
  const std::vector<float> thresholds = with_op(batch.metric, batch.predictions.where(), [&] {
    check_arguments(batch.arguments);
    return thresholds_of(batch.arguments);
  });
  const auto [given_labels, given_predictions] = metrics::resolve_pair(batch, DType::f32);
  const Output weights =
      reshape(metrics::weights_of(batch.metric, given_labels, batch.weights), {1, -1});
  const Output labels = reshape(not_equal(given_labels, 0), {1, -1});
  const Output predictions = reshape(given_predictions, {1, -1});

  Tensor limits(DType::f32, {static_cast<int64_t>(thresholds.size()), 1});
  std::ranges::copy(thresholds, limits.data<float>().begin());
  // [thresholds, examples]
  const Output positive = greater(predictions, constant(limits));
  std::vector<metrics::Sum> sums;
  for (const CountAtThresholds& count : counts) {
    const Output both = logical_and(count.label ? labels : logical_not(labels),
                                    count.prediction ? positive : logical_not(positive));
    sums.push_back({count.name, reduce_sum(where_v2(both, weights, 0), {.axis = 1})});
  }
  return sums;
}

Output area_under_curve(const RuleValues& arguments, const std::vector<Output>& sums) {
  const int64_t n = arguments.integer("num_thresholds");
  const Output& tp = sums[0];
  const Output recall = (tp + kAreaEpsilon) / (tp + sums[1] + kAreaEpsilon);
  if (arguments.text("curve") == "ROC") {
    const Output false_positive_rate = sums[3] / (sums[3] + sums[2] + kAreaEpsilon);
    return area(false_positive_rate, recall, n);
  }
  const Output precision = (tp + kAreaEpsilon) / (tp + sums[3] + kAreaEpsilon);
  return area(recall, precision, n);
}

// At the first threshold whose specificity is nearest.
Output sensitivity_of(const RuleValues& arguments, const std::vector<Output>& sums) {
  const Output distance = abs(specificities(sums) - arguments.number("specificity"));
  return gather(sensitivities(sums), argmin(distance, {.axis = 0}));
}

// At the last threshold whose sensitivity is nearest.
Output specificity_of(const RuleValues& arguments, const std::vector<Output>& sums) {
  const Output distance = abs(sensitivities(sums) - arguments.number("sensitivity"));
  const Output nearest = cast(equal(distance, reduce_min(distance)), DType::s32);
  return gather(specificities(sums), argmax(cumsum(nearest), {.axis = 0}));
}

}  // namespace systole::rules
