// Weighted means of values, of what is right, and of errors.
#pragma once

#include "systole/train/metrics/metric_def.h"

namespace systole {

namespace metrics {
struct MeanOptions {
  Input values;
  Input weights = 1.0F;
  std::string name = {};
};
}  // namespace metrics

namespace rules {

struct MeanMetric : MetricRule {
  using Options = metrics::MeanOptions;

  static constexpr MetricDef def{.name = "mean",
                                 .doc = "The mean of the last layer's output.",
                                 .inputs = MetricInputs::output,
                                 .sums =
                                     [](const metrics::Batch& batch) {
                                       const Output values =
                                           resolve(batch.metric, batch.predictions, DType::f32);
                                       return metrics::mean_sums(batch, cast(values, DType::f32));
                                     },
                                 .value = metrics::mean_of};
};

struct AccuracyMetric : MetricRule {
  using Options = metrics::PredictionOptions;

  static constexpr MetricDef def{
      .name = "accuracy",
      .doc = "Fraction of correct classes.",
      .inputs = MetricInputs::classes,
      .sums =
          [](const metrics::Batch& batch) {
            const auto [labels, predictions] = metrics::resolve_pair(batch, batch.labels.dtype());
            return metrics::mean_sums(batch, cast(equal(labels, predictions), DType::f32));
          },
      .value = metrics::mean_of};
};

// The sums of squared errors.
inline std::vector<metrics::Sum> squared_error_sums(const metrics::Batch& batch) {
  const auto [labels, predictions] = metrics::resolve_pair(batch, DType::f32);
  return metrics::mean_sums(batch, squared_difference(predictions, labels));
}

struct MeanSquaredErrorMetric : MetricRule {
  using Options = metrics::PredictionOptions;

  static constexpr MetricDef def{.name = "mean_squared_error",
                                 .doc = "For numbers.",
                                 .inputs = MetricInputs::numbers,
                                 .sums = squared_error_sums,
                                 .value = metrics::mean_of};
};

struct RootMeanSquaredErrorMetric : MetricRule {
  using Options = metrics::PredictionOptions;

  static constexpr MetricDef def{
      .name = "root_mean_squared_error",
      .doc = "Its square root, for numbers.",
      .inputs = MetricInputs::numbers,
      .sums = squared_error_sums,
      .value = [](const RuleValues& arguments, const std::vector<Output>& sums) {
        return sqrt(metrics::mean_of(arguments, sums));
      }};
};

struct MeanAbsoluteErrorMetric : MetricRule {
  using Options = metrics::PredictionOptions;

  static constexpr MetricDef def{.name = "mean_absolute_error",
                                 .doc = "For numbers.",
                                 .inputs = MetricInputs::numbers,
                                 .sums =
                                     [](const metrics::Batch& batch) {
                                       const auto [labels, predictions] =
                                           metrics::resolve_pair(batch, DType::f32);
                                       return metrics::mean_sums(batch, abs(predictions - labels));
                                     },
                                 .value = metrics::mean_of};
};

}  // namespace rules

namespace metrics {
// sum(values * weights) / sum(weights); 0 before the first batch.
inline constexpr MetricFunction<rules::MeanMetric> mean;
// The fraction of predictions that equal their label.
inline constexpr MetricFunction<rules::AccuracyMetric> accuracy;
inline constexpr MetricFunction<rules::MeanSquaredErrorMetric> mean_squared_error;
inline constexpr MetricFunction<rules::RootMeanSquaredErrorMetric> root_mean_squared_error;
inline constexpr MetricFunction<rules::MeanAbsoluteErrorMetric> mean_absolute_error;
}  // namespace metrics

}  // namespace systole
