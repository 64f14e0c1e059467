// The mean distance of vectors of length 1.
#pragma once

#include "systole/train/metrics/metric_def.h"

namespace systole {

namespace metrics {
struct MeanCosineDistanceOptions {
  Input labels;       // of length 1 along `dim`
  Input predictions;  // the same
  int64_t dim = 0;
  Input weights = 1.0F;  // those of the shape without `dim`, with 1 there
  std::string name = {};
};
}  // namespace metrics

namespace rules {

struct MeanCosineDistanceMetric : MetricRule {
  using Options = metrics::MeanCosineDistanceOptions;
  static constexpr std::tuple kMembers{&Options::dim};
  static constexpr bool kByPosition = false;
  static constexpr std::array kArguments = {RuleArgument{
      .name = "dim", .kind = RuleArgumentKind::integer, .doc = "Axis of the vectors."}};

  static constexpr MetricDef def{
      .name = "mean_cosine_distance",
      .doc = "For vectors of length 1.",
      .inputs = MetricInputs::numbers,
      .arguments = kArguments,
      .sums =
          [](const metrics::Batch& batch) {
            const auto [labels, predictions] = metrics::resolve_pair(batch, DType::f32);
            const Output products = reduce_sum(
                predictions * labels, {.axis = batch.arguments.integer("dim"), .keepdims = true});
            return metrics::mean_sums(batch, products);
          },
      .value =
          [](const RuleValues& arguments, const std::vector<Output>& sums) {
            return 1.0 - metrics::mean_of(arguments, sums);
          }};
};

}  // namespace rules

namespace metrics {
// 1 minus the mean of the products, summed over the axis `dim`.
inline constexpr MetricFunction<rules::MeanCosineDistanceMetric> mean_cosine_distance;
}  // namespace metrics

}  // namespace systole
