// Metrics by name or as functions. (tf.keras.metrics)
#pragma once

#include <concepts>
#include <functional>
#include <string>
#include <vector>

#include "systole/keras/functions/loss.h"

namespace systole::keras {

// (targets, predictions) -> a value for each example, or for each example and step.
using MetricFn = LossFn;

// "accuracy", "mse", a loss's name, or a function with the name that History shows.
class MetricSpec {
 public:
  MetricSpec(const char* name) : name_(name) {}             // NOLINT
  MetricSpec(std::string name) : name_(std::move(name)) {}  // NOLINT
  MetricSpec(std::string name, MetricFn function)
      : name_(std::move(name)), function_(std::move(function)) {}

  const std::string& name() const { return name_; }
  bool has_function() const { return function_ != nullptr; }

  struct Resolved {
    std::string name;  // in History: "acc"
    MetricFn function;
  };
  // The function for an output and a target of these shapes, trained with `loss`. 'accuracy'
  // becomes binary accuracy for one output or binary_crossentropy; sparse accuracy for a sparse
  // loss, and for targets that have one column where the output has several; else categorical
  // accuracy. Logs the choice where the loss leaves it open. Errors: NOT_FOUND `Unknown metric
  // function:<name>` with the nearest name.
  Resolved resolve(const Shape& output, const Shape& target, const LossSpec& loss) const;

 private:
  std::string name_;
  MetricFn function_;
};

void register_metric(const std::string& name, MetricFn function);
std::vector<std::string> metric_names();

}  // namespace systole::keras
