// Metrics of probabilities, by the counts of answers at thresholds.
#pragma once

#include <initializer_list>

#include "systole/train/metrics/metric_def.h"

namespace systole {

namespace metrics {
struct AucOptions {
  Input labels;       // truth values
  Input predictions;  // in [0, 1]
  Input weights = 1.0F;
  int64_t num_thresholds = 200;  // at least 2
  std::string curve = "ROC";     // or "PR"
  std::string name = {};
};
struct AtThresholdsOptions {
  Input labels;       // truth values
  Input predictions;  // in [0, 1]
  std::vector<double> thresholds;
  Input weights = 1.0F;
  std::string name = {};
};
struct SensitivityOptions {
  Input labels;       // truth values
  Input predictions;  // in [0, 1]
  double sensitivity = 0;
  Input weights = 1.0F;
  int64_t num_thresholds = 200;
  std::string name = {};
};
struct SpecificityOptions {
  Input labels;       // truth values
  Input predictions;  // in [0, 1]
  double specificity = 0;
  Input weights = 1.0F;
  int64_t num_thresholds = 200;
  std::string name = {};
};
}  // namespace metrics

namespace rules {

// What is counted: the label, the prediction, and the name of the sum.
struct CountAtThresholds {
  bool label;
  bool prediction;
  const char* name;
};
inline constexpr CountAtThresholds kTruePositives{true, true, "true_positives"};
inline constexpr CountAtThresholds kFalseNegatives{true, false, "false_negatives"};
inline constexpr CountAtThresholds kTrueNegatives{false, false, "true_negatives"};
inline constexpr CountAtThresholds kFalsePositives{false, true, "false_positives"};

// Counts at the argument `thresholds`, or at `num_thresholds`: evenly spaced in (0, 1), and one
// below and one above all predictions. f32 [thresholds] each.
std::vector<metrics::Sum> threshold_sums(const metrics::Batch& batch,
                                         std::initializer_list<CountAtThresholds> counts);
// The sums are true positives, false negatives, true negatives, false positives.
inline std::vector<metrics::Sum> all_threshold_sums(const metrics::Batch& batch) {
  return threshold_sums(batch, {kTruePositives, kFalseNegatives, kTrueNegatives, kFalsePositives});
}
Output area_under_curve(const RuleValues& arguments, const std::vector<Output>& sums);
Output sensitivity_of(const RuleValues& arguments, const std::vector<Output>& sums);
Output specificity_of(const RuleValues& arguments, const std::vector<Output>& sums);

inline constexpr RuleArgument kNumThresholds{.name = "num_thresholds",
                                             .kind = RuleArgumentKind::integer,
                                             .usual = 200,
                                             .doc = "Number of thresholds."};

struct AucMetric : MetricRule {
  using Options = metrics::AucOptions;
  static constexpr std::tuple kMembers{&Options::num_thresholds, &Options::curve};
  static constexpr std::array kArguments = {kNumThresholds,
                                            RuleArgument{.name = "curve",
                                                         .kind = RuleArgumentKind::text,
                                                         .usual_text = "ROC",
                                                         .doc = "ROC or PR."}};

  static constexpr MetricDef def{.name = "auc",
                                 .doc = "The area under the curve.",
                                 .inputs = MetricInputs::probabilities,
                                 .arguments = kArguments,
                                 .sums = all_threshold_sums,
                                 .value = area_under_curve};
};

struct SensitivityAtSpecificityMetric : MetricRule {
  using Options = metrics::SpecificityOptions;
  static constexpr std::tuple kMembers{&Options::specificity, &Options::num_thresholds};
  static constexpr bool kByPosition = false;
  static constexpr std::array kArguments = {
      RuleArgument{.name = "specificity",
                   .doc = "Fraction of right answers among the negative labels.",
                   .range = HyperparameterRange::fraction},
      kNumThresholds};

  static constexpr MetricDef def{.name = "sensitivity_at_specificity",
                                 .doc = "Recall at the threshold of this specificity.",
                                 .inputs = MetricInputs::probabilities,
                                 .arguments = kArguments,
                                 .sums = all_threshold_sums,
                                 .value = sensitivity_of};
};

struct SpecificityAtSensitivityMetric : MetricRule {
  using Options = metrics::SensitivityOptions;
  static constexpr std::tuple kMembers{&Options::sensitivity, &Options::num_thresholds};
  static constexpr bool kByPosition = false;
  static constexpr std::array kArguments = {
      RuleArgument{.name = "sensitivity",
                   .doc = "Fraction of right answers among the positive labels.",
                   .range = HyperparameterRange::fraction},
      kNumThresholds};

  static constexpr MetricDef def{
      .name = "specificity_at_sensitivity",
      .doc = "Fraction of right answers among the negative labels, at this recall.",
      .inputs = MetricInputs::probabilities,
      .arguments = kArguments,
      .sums = all_threshold_sums,
      .value = specificity_of};
};

inline constexpr std::array kThresholdsArguments = {
    RuleArgument{.name = "thresholds",
                 .kind = RuleArgumentKind::numbers,
                 .doc = "Probabilities above which an answer is positive."}};

template <const CountAtThresholds&... counts>
std::vector<metrics::Sum> sums_of(const metrics::Batch& batch) {
  return threshold_sums(batch, {counts...});
}

// 1e-7 away from a division by 0, as TensorFlow.
inline Output part_of_positives(const RuleValues&, const std::vector<Output>& sums) {
  return sums[0] / (sums[0] + sums[1] + 1e-7);
}

struct PrecisionAtThresholds : MetricRule {
  using Options = metrics::AtThresholdsOptions;
  static constexpr std::tuple kMembers{&Options::thresholds};
  static constexpr bool kByPosition = false;

  static constexpr MetricDef def{.name = "precision_at_thresholds",
                                 .doc = "True positives / predicted positives, at each threshold.",
                                 .inputs = MetricInputs::probabilities,
                                 .arguments = kThresholdsArguments,
                                 .sums = sums_of<kTruePositives, kFalsePositives>,
                                 .value = part_of_positives};
};

struct RecallAtThresholds : MetricRule {
  using Options = metrics::AtThresholdsOptions;
  static constexpr std::tuple kMembers{&Options::thresholds};
  static constexpr bool kByPosition = false;

  static constexpr MetricDef def{.name = "recall_at_thresholds",
                                 .doc = "True positives / actual positives, at each threshold.",
                                 .inputs = MetricInputs::probabilities,
                                 .arguments = kThresholdsArguments,
                                 .sums = sums_of<kTruePositives, kFalseNegatives>,
                                 .value = part_of_positives};
};

struct TruePositivesAtThresholds : MetricRule {
  using Options = metrics::AtThresholdsOptions;
  static constexpr std::tuple kMembers{&Options::thresholds};
  static constexpr bool kByPosition = false;

  static constexpr MetricDef def{.name = "true_positives_at_thresholds",
                                 .doc = "Counts at each threshold.",
                                 .inputs = MetricInputs::probabilities,
                                 .arguments = kThresholdsArguments,
                                 .sums = sums_of<kTruePositives>};
};

struct FalsePositivesAtThresholds : MetricRule {
  using Options = metrics::AtThresholdsOptions;
  static constexpr std::tuple kMembers{&Options::thresholds};
  static constexpr bool kByPosition = false;

  static constexpr MetricDef def{.name = "false_positives_at_thresholds",
                                 .doc = "Counts at each threshold.",
                                 .inputs = MetricInputs::probabilities,
                                 .arguments = kThresholdsArguments,
                                 .sums = sums_of<kFalsePositives>};
};

struct TrueNegativesAtThresholds : MetricRule {
  using Options = metrics::AtThresholdsOptions;
  static constexpr std::tuple kMembers{&Options::thresholds};
  static constexpr bool kByPosition = false;

  static constexpr MetricDef def{.name = "true_negatives_at_thresholds",
                                 .doc = "Counts at each threshold.",
                                 .inputs = MetricInputs::probabilities,
                                 .arguments = kThresholdsArguments,
                                 .sums = sums_of<kTrueNegatives>};
};

struct FalseNegativesAtThresholds : MetricRule {
  using Options = metrics::AtThresholdsOptions;
  static constexpr std::tuple kMembers{&Options::thresholds};
  static constexpr bool kByPosition = false;

  static constexpr MetricDef def{.name = "false_negatives_at_thresholds",
                                 .doc = "Counts at each threshold.",
                                 .inputs = MetricInputs::probabilities,
                                 .arguments = kThresholdsArguments,
                                 .sums = sums_of<kFalseNegatives>};
};

}  // namespace rules

namespace metrics {
// The area under the curve, by the trapezoidal rule over evenly spaced thresholds.
inline constexpr MetricFunction<rules::AucMetric> auc;
inline constexpr MetricFunction<rules::SensitivityAtSpecificityMetric> sensitivity_at_specificity;
inline constexpr MetricFunction<rules::SpecificityAtSensitivityMetric> specificity_at_sensitivity;
// f32 [thresholds] each.
inline constexpr MetricFunction<rules::PrecisionAtThresholds> precision_at_thresholds;
inline constexpr MetricFunction<rules::RecallAtThresholds> recall_at_thresholds;
inline constexpr MetricFunction<rules::TruePositivesAtThresholds> true_positives_at_thresholds;
inline constexpr MetricFunction<rules::FalsePositivesAtThresholds> false_positives_at_thresholds;
inline constexpr MetricFunction<rules::TrueNegativesAtThresholds> true_negatives_at_thresholds;
inline constexpr MetricFunction<rules::FalseNegativesAtThresholds> false_negatives_at_thresholds;
}  // namespace metrics

}  // namespace systole
