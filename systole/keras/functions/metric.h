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

  struct Resolved {
    std::string name;  // in History: "acc"
    MetricFn function;
  };
  // The function for an output of this shape, trained with `loss`. 'accuracy' becomes binary,
  // categorical or sparse accuracy. Errors: NOT_FOUND `Unknown metric function:<name>` with the
  // nearest name.
  Resolved resolve(const Shape& output, const LossSpec& loss) const;

 private:
  std::string name_;
  MetricFn function_;
};

void register_metric(const std::string& name, MetricFn function);
std::vector<std::string> metric_names();

}  // namespace systole::keras
