// The result of a model_fn. (tf.estimator.EstimatorSpec, tf.contrib.tpu.TPUEstimatorSpec)
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "systole/base/nest.h"
#include "systole/base/source_location.h"
#include "systole/estimator/mode.h"
#include "systole/graph/core/variable.h"
#include "systole/train/loop/hooks.h"
#include "systole/train/loop/scaffold.h"
#include "systole/train/metrics/metrics.h"

namespace systole {

// Metrics by their names in the result of evaluate().
using MetricMap = std::map<std::string, Metric>;

// Tensors in a list: Outputs, Variables (their values) and numbers.
class OutputList : public std::vector<Output> {
 public:
  OutputList() = default;
  OutputList(std::initializer_list<Input> inputs);
  OutputList(std::vector<Output> outputs)  // NOLINT(google-explicit-constructor)
      : std::vector<Output>(std::move(outputs)) {}
};

// A function that creates metrics, and its arguments: in order, or by name.
//   .eval_metrics = {metric_fn, {labels, predictions}}
//   .eval_metrics = {metric_fn, {{"labels", labels}, {"predictions", predictions}}}
// In the first form the function takes that many Outputs, or one std::vector<Output>; in the second
// one std::map<std::string, Output>. It is called while the model is built, for every device.
class EvalMetrics {
 public:
  using NamedOutputs = std::map<std::string, Output>;

  EvalMetrics() = default;
  template <class F>
  EvalMetrics(F fn, OutputList tensors)
      : call_([fn = std::move(fn), tensors = std::move(tensors)] { return call(fn, tensors); }) {}
  template <class F>
  requires std::invocable<F, const NamedOutputs&> EvalMetrics(F fn, NamedOutputs tensors)
      : call_([fn = std::move(fn), tensors = std::move(tensors)] { return fn(tensors); }) {}
  template <class F>
  requires std::invocable<F, const NamedOutputs&> EvalMetrics(
      F fn, std::initializer_list<std::pair<std::string, Input>> tensors)
      : EvalMetrics(std::move(fn), named(tensors)) {}

  explicit operator bool() const { return call_ != nullptr; }
  // Errors: INVALID_ARGUMENT when the function takes another number of tensors.
  MetricMap operator()() const { return call_(); }

 private:
  static Error wrong_count(size_t got, size_t takes);
  static NamedOutputs named(std::initializer_list<std::pair<std::string, Input>> tensors);

  template <class F, size_t... I>
  static MetricMap spread(const F& fn, const std::vector<Output>& tensors,
                          std::index_sequence<I...>) {
    if (tensors.size() != sizeof...(I)) throw wrong_count(tensors.size(), sizeof...(I));
    return fn(tensors[I]...);
  }
  template <class F, size_t N = 0>
  static MetricMap call(const F& fn, const std::vector<Output>& tensors) {
    if constexpr (std::invocable<const F&, const std::vector<Output>&>) {
      return fn(tensors);
    } else if constexpr (takes<F>(std::make_index_sequence<N>())) {
      return spread(fn, tensors, std::make_index_sequence<N>());
    } else {
      static_assert(N < 16, "a metric function takes Outputs and returns a MetricMap");
      return call<F, N + 1>(fn, tensors);
    }
  }
  template <class F, size_t... I>
  static constexpr bool takes(std::index_sequence<I...>) {
    return std::invocable<const F&, decltype(static_cast<void>(I), std::declval<Output>())...>;
  }

  std::function<MetricMap()> call_;
};

// The function of a host_call, and the line that gives it, for errors.
class HostCallFunction {
 public:
  HostCallFunction(std::nullptr_t) {}  // NOLINT(google-explicit-constructor)
  template <std::invocable<std::span<const Tensor>> F>
  HostCallFunction(  // NOLINT(google-explicit-constructor)
      F fn, const std::source_location& where = std::source_location::current())
      : fn_(std::move(fn)), where_(where) {}

  explicit operator bool() const { return fn_ != nullptr; }
  // Errors: what the function throws, with the step and the line.
  void operator()(std::span<const Tensor> values, int64_t step) const;

 private:
  std::function<void(std::span<const Tensor> values)> fn_;
  SourceLocation where_;
};

// A C++ function that receives values of every step of training, evaluation and prediction. It is
// called once for each step, after the launch of the step. Each tensor has the values of all
// replicas, concatenated along the first axis; a scalar arrives as [replicas]. With BROADCAST,
// where all replicas have the same batch, it has those of replica 0 only. In an evaluation or
// prediction, padding rows are removed from tensors whose first dimension is a replica's batch
// size, also if that is a coincidence.
struct HostCall {
  HostCallFunction fn = nullptr;
  OutputList tensors = {};
  explicit operator bool() const { return static_cast<bool>(fn); }
};

struct TPUEstimatorSpec {
  Mode mode = Mode::train;
  // The results of predict(), by name, [batch, ...] each; or one tensor.
  Nest<Output> predictions = {};
  Output loss = {};         // a floating scalar; to train and evaluate
  Operation train_op = {};  // increments the global step; to train
  EvalMetrics eval_metrics = {};
  // Metrics by name. May be combined with eval_metrics.
  MetricMap eval_metric_ops = {};
  // Signatures of an exported model; empty: {"serving_default": predictions}.
  std::map<std::string, Nest<Output>> export_outputs = {};
  HostCall host_call = {};
  // Called in every mode, once hooks have begun in training, while the model's graph is current and
  // may still grow.
  std::function<Scaffold()> scaffold_fn = nullptr;
  // begin() of a hook may add to the step.
  std::vector<std::shared_ptr<SessionRunHook>> training_hooks = {};
  std::vector<std::shared_ptr<SessionRunHook>> evaluation_hooks = {};
  std::vector<std::shared_ptr<SessionRunHook>> prediction_hooks = {};

  // Errors: INVALID_ARGUMENT with TensorFlow's texts: "Missing loss.", "Missing train_op.",
  // "Missing predictions.", "Loss must be scalar, given: ...".
  void validate() const;
};
using EstimatorSpec = TPUEstimatorSpec;

}  // namespace systole
