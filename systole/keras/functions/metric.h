// Metrics by name or as functions. (tf.keras.metrics)
#pragma once

#include <concepts>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "systole/keras/base/json.h"
#include "systole/keras/functions/loss.h"
#include "systole/train/metrics/metrics.h"

namespace systole::keras {

// (targets, predictions) -> a value for each example, or for each example and step.
using MetricFn = LossFn;

// "accuracy", "mse", a loss's name, or a function with the name that History shows. The metrics
// stand in train/metrics.
class MetricSpec {
 public:
  MetricSpec(const char* name) : name_(name) {}             // NOLINT
  MetricSpec(std::string name) : name_(std::move(name)) {}  // NOLINT
  MetricSpec(std::string name, MetricFn function)
      : name_(std::move(name)), function_(std::move(function)) {}
  MetricSpec(const MetricDef& def, const RuleValues& arguments);

  const std::string& name() const { return name_; }
  bool has_function() const { return function_ != nullptr; }
  // Null where the metric is known by its name alone.
  const MetricFn& function() const { return function_; }
  // The definition of a function of train/metrics, with the arguments; null for others.
  const MetricDef* def() const { return def_; }
  const RuleValues& arguments() const { return arguments_; }
  // Whether it is a metric as an object: see namespace metrics.
  bool is_running() const { return running_; }
  // The metric as an object: see namespace metrics.
  MetricSpec running(std::string name) const {
    MetricSpec made = *this;
    made.name_ = std::move(name);
    made.running_ = true;
    return made;
  }

  struct Resolved {
    std::string name;  // in History: "acc"
    MetricFn function;
    bool running = false;
  };
  // The function for an output and a target of these shapes, trained with `loss`. 'accuracy'
  // becomes binary accuracy for one output or binary_crossentropy; sparse accuracy for a sparse
  // loss, and for targets that have one column where the output has several; else categorical
  // accuracy. Logs the choice where the loss leaves it open. Errors: NOT_FOUND `Unknown metric
  // function:<name>` with the nearest name.
  Resolved resolve(const Shape& output, const Shape& target, const LossSpec& loss) const;

 private:
  Resolved resolve_function(const Shape& output, const Shape& target, const LossSpec& loss) const;

  std::string name_;
  MetricFn function_;
  const MetricDef* def_ = nullptr;
  RuleValues arguments_;
  bool running_ = false;
};

void register_metric(const std::string& name, MetricFn function);
std::vector<std::string> metric_names();

// The metric as files have it: its name, or its class and arguments, {"class_name": ..., "config":
// ...}, for an object and for a k other than 5. Warns of a function that load_model() cannot find
// by the name.
Json metric_to_json(const MetricSpec& metric);
// The metric of a class and its arguments, also as TensorFlow 2 writes them; nullopt for other
// values. Errors: INVALID_ARGUMENT for arguments of another type.
std::optional<MetricSpec> metric_from_class(const Json& json);

// Metrics as objects: the sum over all examples since the epoch or evaluation began, divided by
// their number. Batches count by their examples, and masked steps not at all, where the mean of a
// function's values weighs batches by their size. (tf.keras.metrics.Metric)
namespace metrics {

// NOLINTNEXTLINE(readability-identifier-naming): the name of Keras.
MetricSpec Mean(std::string name, MetricFn function);

template <class Rule>
MetricSpec MetricClass<Rule>::operator()(std::string name) const {
  return MetricSpec(Rule::def, usual_values(Rule::def.arguments)).running(std::move(name));
}

template <class Rule>
MetricSpec MetricOfK<Rule>::operator()(int64_t k) const {
  RuleValues values;
  values.set("k", static_cast<double>(k));
  return {Rule::def, values};
}

}  // namespace metrics

}  // namespace systole::keras
