// A traced model_fn: the graph of one replica's step.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "systole/estimator/functions.h"
#include "systole/estimator/input.h"

namespace systole::estimator {

struct Model {
  std::shared_ptr<Graph> graph;
  std::vector<Output> inputs;            // placeholders of features and labels, flattened
  std::vector<std::string> input_names;  // of the same: "features['x']"
  Output mask;                           // the example mask; invalid in training
  TPUEstimatorSpec spec;
  MetricMap metrics;  // of an evaluation, including "loss"
  Variable global_step;

  std::vector<Variable> variables(std::string_view collection) const {
    return graph->collection<Variable>(collection);
  }
};

struct TraceOptions {
  Mode mode = Mode::train;
  int64_t replicas = 1;  // of all hosts
  int64_t hosts = 1;
  bool use_tpu = false;
  Params params;
  std::optional<int64_t> seed;
};

// Calls the model_fn with placeholders of the input's types. Errors: those of the model_fn and of
// TPUEstimatorSpec::validate.
Model trace(const ModelFn& model_fn, const Input& input, const TraceOptions& options);

// Calls the model_fn with features that `make_features` creates in the model's graph, for serving.
// There are no labels and no example mask.
Model trace_serving(const ModelFn& model_fn, const std::function<Nest<Output>()>& make_features,
                    const TraceOptions& options);

}  // namespace systole::estimator
