// Metrics that are weighted means.
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/train/metrics/accumulate.h"

namespace systole::metrics {
namespace {

Metric weighted_mean(std::string_view metric, const Output& values, const Input& weights,
                     const std::function<Output(const Output&)>& finish = nullptr) {
  const Output w = weights_of(metric, values, weights);
  // A NaN with weight 0 must not count.
  const Output weighted = where_v2(equal(w, 0), 0, values * w);
  return accumulate({{"total", reduce_sum(weighted)}, {"count", reduce_sum(w)}},
                    [&](const std::vector<Output>& sums) {
                      const Output mean = safe_divide(sums[0], sums[1]);
                      return finish ? finish(mean) : mean;
                    });
}

}  // namespace

Metric mean(const MeanOptions& options) {
  const CompositionScope scope(options.values, options.name, "mean");
  return weighted_mean("mean", cast(resolve("mean", options.values, DType::f32), DType::f32),
                       options.weights);
}

Metric accuracy(const PredictionOptions& options) {
  const CompositionScope scope(options.predictions, options.name, "accuracy");
  const DType dtype = options.labels.dtype();
  const auto [labels, predictions] =
      resolve_pair("accuracy", options.labels, options.predictions, dtype);
  return weighted_mean("accuracy", cast(equal(labels, predictions), DType::f32), options.weights);
}

Metric mean_squared_error(const PredictionOptions& options) {
  constexpr std::string_view kMetric = "mean_squared_error";
  const CompositionScope scope(options.predictions, options.name, kMetric);
  const auto [labels, predictions] =
      resolve_pair(kMetric, options.labels, options.predictions, DType::f32);
  return weighted_mean(kMetric, squared_difference(predictions, labels), options.weights);
}

Metric root_mean_squared_error(const PredictionOptions& options) {
  constexpr std::string_view kMetric = "root_mean_squared_error";
  const CompositionScope scope(options.predictions, options.name, kMetric);
  const auto [labels, predictions] =
      resolve_pair(kMetric, options.labels, options.predictions, DType::f32);
  return weighted_mean(kMetric, squared_difference(predictions, labels), options.weights,
                       [](const Output& x) { return sqrt(x); });
}

Metric mean_absolute_error(const PredictionOptions& options) {
  constexpr std::string_view kMetric = "mean_absolute_error";
  const CompositionScope scope(options.predictions, options.name, kMetric);
  const auto [labels, predictions] =
      resolve_pair(kMetric, options.labels, options.predictions, DType::f32);
  return weighted_mean(kMetric, abs(predictions - labels), options.weights);
}

}  // namespace systole::metrics
