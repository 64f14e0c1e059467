// What a metric is: a rule, of which each header of this folder defines one or more.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/op_error.h"
#include "systole/graph/core/rule_arguments.h"
#include "systole/graph/core/variable.h"

namespace systole {

struct Metric {
  Output value;      // from the values of the variables at the start of the run
  Output update_op;  // adds the batch; its value is the metric afterwards
  std::vector<Variable> accumulators = {};
};

namespace metrics {

// What a metric is given of one batch.
struct Batch {
  std::string_view metric;  // for errors
  const RuleValues& arguments;
  const Input& labels;
  const Input& predictions;
  const Input& weights;
};

// A sum over batches.
struct Sum {
  std::string name;  // of its variable: "total"
  Output addend;     // what this batch adds, of any static shape
};

}  // namespace metrics

// What configuration files give a metric of a model's outputs and labels.
enum class MetricInputs : uint8_t {
  classes,        // class numbers, of both
  scores,         // class numbers of labels, and a score for each class
  probabilities,  // truth values of labels, and probabilities
  numbers,
  output,  // no labels
};

// Named fields; a field not named is absent.
struct MetricDef {
  std::string_view name = {};         // in tf.metrics and in configuration files
  std::string_view keras_name = {};   // in Keras; empty: it has none
  std::string_view keras_class = {};  // of the object; empty: keras_name in camel case
  bool keras_object_is_total = true;  // the object is the mean over all examples
  std::string_view doc = {};          // a sentence, for the reference of configuration files
  std::optional<MetricInputs> inputs = std::nullopt;
  std::span<const RuleArgument> arguments = {};
  // What a batch adds to the sums, and the metric of the sums, by default the only one.
  std::vector<metrics::Sum> (*sums)(const metrics::Batch& batch) = nullptr;
  Output (*value)(const RuleValues& arguments, const std::vector<Output>& sums) = nullptr;
  // Keras's function: a value for each example, or for each example and step.
  Output (*keras_value)(const RuleValues& arguments, const Output& labels,
                        const Output& predictions) = nullptr;
};

// Base of rules. A rule has
//   static constexpr MetricDef def;
//   using Options = ...;       of the function in tf.metrics
//   static constexpr std::tuple kMembers{&Options::...};  those that are arguments
//   static constexpr bool kByPosition = false;  an argument has no default
struct MetricRule {
  static constexpr std::tuple<> kMembers{};
  static constexpr bool kByPosition = true;
};

// All rules, made by the build from this folder.
std::span<const MetricDef* const> all_metric_defs();

namespace metrics {

// The options of a metric without arguments.
struct PredictionOptions {
  Input labels;
  Input predictions;
  Input weights = 1.0F;
  std::string name = {};
};

// The metric as tf.metrics has it. One of values alone has them as labels, too.
Metric streaming_metric(const MetricDef& def, const RuleValues& arguments, const Input& labels,
                        const Input& predictions, const Input& weights = 1.0F,
                        const std::string& name = {});

// The function of tf.metrics: accuracy({.labels = y, .predictions = p}), or (y, p).
template <class Rule>
struct MetricFunction {
  using Options = typename Rule::Options;

  Metric operator()(const Options& options) const {
    const RuleValues values =
        values_of(options, Rule::kMembers, Rule::def.arguments, RuleFronts::train);
    if constexpr (requires { options.values; }) {
      return streaming_metric(Rule::def, values, options.values, options.values, options.weights,
                              options.name);
    } else {
      return streaming_metric(Rule::def, values, options.labels, options.predictions,
                              options.weights, options.name);
    }
  }
  Metric operator()(const Input& labels, const Input& predictions,
                    const Input& weights = 1.0F) const
      requires(Rule::kByPosition&& requires(Options o) { o.labels; }) {
    return streaming_metric(Rule::def, usual_values(Rule::def.arguments), labels, predictions,
                            weights);
  }
  Metric operator()(const Input& values, const Input& weights = 1.0F) const requires
      requires(Options o) {
    o.values;
  }
  {
    return streaming_metric(Rule::def, usual_values(Rule::def.arguments), values, values, weights);
  }
};

// numerator / denominator; 0 where the denominator is 0.
Output safe_divide(const Output& numerator, const Output& denominator);

// Returns `weights` times the example mask, broadcast to `values`.
Output weights_of(std::string_view metric, const Output& values, const Input& weights);

struct LabelsAndPredictions {
  Output labels;
  Output predictions;
};
// Converts both to `dtype`, and removes a last dimension of 1 that the other lacks.
LabelsAndPredictions resolve_pair(const Batch& batch, DType dtype);

// The sums of a weighted mean of `values`, and the mean.
std::vector<Sum> mean_sums(const Batch& batch, const Output& values);
Output mean_of(const RuleValues& arguments, const std::vector<Output>& sums);

}  // namespace metrics

namespace keras {
class MetricSpec;
namespace metrics {

// Keras's class of a metric as an object: BinaryAccuracy("hits"). See keras/functions/metric.h.
template <class Rule>
struct MetricClass {
  MetricSpec operator()(std::string name = std::string(Rule::def.keras_name)) const;
};
// Keras's function of k.
template <class Rule>
struct MetricOfK {
  MetricSpec operator()(int64_t k = static_cast<int64_t>(*Rule::kArguments[0].usual)) const;
};

}  // namespace metrics
}  // namespace keras

}  // namespace systole
