// What a model_fn returns. (tf.estimator.EstimatorSpec, tf.contrib.tpu.TPUEstimatorSpec)
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "systole/base/nest.h"
#include "systole/estimator/hooks/hooks.h"
#include "systole/estimator/mode.h"
#include "systole/graph/api/variable.h"
#include "systole/train/metrics.h"

namespace systole {

// Metrics by the names under which evaluate() gives them.
using MetricMap = std::map<std::string, Metric>;

// Tensors in a list: Outputs, Variables (their values) and numbers.
class OutputList : public std::vector<Output> {
 public:
  OutputList() = default;
  OutputList(std::initializer_list<Input> inputs);
  OutputList(std::vector<Output> outputs)  // NOLINT(google-explicit-constructor)
      : std::vector<Output>(std::move(outputs)) {}
};

// A function that makes metrics, and the tensors it is given: in order, or by name.
//   .eval_metrics = {metric_fn, {labels, predictions}}
//   .eval_metrics = {metric_fn, {{"labels", labels}, {"predictions", predictions}}}
// In the first form the function takes as many Outputs, or one std::vector<Output>; in the second
// one std::map<std::string, Output>. It is called while the model is built, on every device.
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

// Values that the host wants to see of every step of training, evaluation and prediction: `fn` is
// plain C++ and gets each tensor's values of all replicas one behind the other along the first
// axis, once a step, when its launch is over (a loop is one launch, or several where its input is
// large). Where all replicas have the same batch (BROADCAST) these are the first replica's alone.
// Rows that fill up the last batch of an evaluation or prediction are left out of tensors with a
// row for each example, which are those whose first dimension is a replica's batch: one that has it
// by chance loses rows of that batch too.
struct HostCall {
  std::function<void(std::span<const Tensor> values)> fn = nullptr;
  OutputList tensors = {};
  explicit operator bool() const { return fn != nullptr; }
};

// What scaffold_fn gives: how the variables begin. It is called in every training, before anything
// is restored or run, while the model's graph is the current one and may still grow.
struct Scaffold {
  // Called with the session once the variables are initialised and no checkpoint was restored; the
  // model's graph is the current one. It may add nothing to the step.
  std::function<void(Session&)> init_fn = nullptr;
};

struct TPUEstimatorSpec {
  Mode mode = Mode::train;
  // What predict() gives, by name: [batch, ...] each.
  Nest<Output> predictions = {};
  Output loss = {};         // a scalar, to train and evaluate
  Operation train_op = {};  // to train
  EvalMetrics eval_metrics = {};
  // The plain form: metrics by name. Both may be given.
  MetricMap eval_metric_ops = {};
  // Signatures of an exported model; {"serving_default": predictions} when empty.
  std::map<std::string, Nest<Output>> export_outputs = {};
  HostCall host_call = {};
  std::function<Scaffold()> scaffold_fn = nullptr;
  // Their begin() may add to the step; nothing behind it does.
  std::vector<std::shared_ptr<SessionRunHook>> training_hooks = {};
  std::vector<std::shared_ptr<SessionRunHook>> evaluation_hooks = {};
  std::vector<std::shared_ptr<SessionRunHook>> prediction_hooks = {};

  // Errors: INVALID_ARGUMENT with TensorFlow's texts: "Missing loss.", "Missing train_op.",
  // "Missing predictions.", "Loss must be scalar, given: ...".
  void validate() const;
};
using EstimatorSpec = TPUEstimatorSpec;

}  // namespace systole
