// Metrics of the k highest predictions.
#pragma once

#include "systole/train/metrics/metric_def.h"

namespace systole {

namespace metrics {
struct AtKOptions {
  Input labels;       // integers, [..] or [.., labels of an example]
  Input predictions;  // floating, [.., classes]
  int64_t k = 1;
  std::optional<int64_t> class_id = std::nullopt;  // only this class counts
  Input weights = 1.0F;                            // scalar or [..]
  std::string name = {};
};
}  // namespace metrics

namespace rules {

inline constexpr std::array kAtKArguments = {RuleArgument{.name = "k",
                                                          .kind = RuleArgumentKind::integer,
                                                          .usual = 1,
                                                          .doc = "Number of classes to consider."},
                                             RuleArgument{.name = "class_id",
                                                          .kind = RuleArgumentKind::integer,
                                                          .may_be_missing = true,
                                                          .doc = "Count this class only."}};

// Return two sums over the batch: hits, and misses. A label is a hit if its class is among the k
// highest predictions, a prediction among the k highest if its class is a label.
std::vector<metrics::Sum> labels_found_at_k(const metrics::Batch& batch);
std::vector<metrics::Sum> predictions_right_at_k(const metrics::Batch& batch);
// NaN, as in TensorFlow, where nothing counts: no example has the class.
inline Output part_of_hits(const RuleValues&, const std::vector<Output>& sums) {
  return sums[0] / (sums[0] + sums[1]);
}

struct RecallAtK : MetricRule {
  using Options = metrics::AtKOptions;
  static constexpr std::tuple kMembers{&Options::k, &Options::class_id};
  static constexpr bool kByPosition = false;

  static constexpr MetricDef def{.name = "recall_at_k",
                                 .doc = "Fraction of labels among the k most probable classes.",
                                 .inputs = MetricInputs::scores,
                                 .arguments = kAtKArguments,
                                 .sums = labels_found_at_k,
                                 .value = part_of_hits};
};

struct PrecisionAtK : MetricRule {
  using Options = metrics::AtKOptions;
  static constexpr std::tuple kMembers{&Options::k, &Options::class_id};
  static constexpr bool kByPosition = false;

  static constexpr MetricDef def{.name = "precision_at_k",
                                 .doc = "Fraction of the k most probable classes that are labels.",
                                 .inputs = MetricInputs::scores,
                                 .arguments = kAtKArguments,
                                 .sums = predictions_right_at_k,
                                 .value = part_of_hits};
};

}  // namespace rules

namespace metrics {
// recall_at_k: the fraction of the labels that are among the k highest predictions. precision_at_k:
// the fraction of the k highest predictions that are labels. A label that is no class never counts
// as found.
inline constexpr MetricFunction<rules::RecallAtK> recall_at_k;
inline constexpr MetricFunction<rules::PrecisionAtK> precision_at_k;
}  // namespace metrics

}  // namespace systole
