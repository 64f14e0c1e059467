// What a step of a compiled model computes: the loss and the metrics.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "systole/keras/engine/network.h"
#include "systole/keras/training/compile_options.h"

namespace systole::keras {

// The tensors of one replica's batch.
struct StepTensors {
  std::vector<Output> outputs;
  std::vector<Output> targets;         // one an output
  std::vector<Output> sample_weights;  // one an output, or none
  Output example_mask;                 // f32 [batch]: 0 for padding
};

// Scalars with their names: "loss", then the losses of several outputs, then metrics, as Keras
// orders them. Each is this replica's part of the value: the sum over all replicas is the value of
// the whole batch.
struct StepValues {
  std::vector<std::string> names;
  std::vector<Output> values;
  std::vector<bool> running;  // of metrics as objects

  const Output& loss() const { return values.at(0); }
  // A name that is taken gets a number.
  void add(const std::string& name, const Output& value, bool is_running = false);
};

// Adds this replica's sum and weight to those of the steps before, and returns this replica's part
// of their quotient. `name` is the metric's, unique in the model.
using RunningMetricFn =
    std::function<Output(const std::string& name, const Output& sum, const Output& weight)>;

// Builds them in the current graph: losses and metrics of the outputs, penalties on weights, and
// what layers added to `context`. Without `running`, metrics as objects have the value of the step
// alone. Errors: FAILED_PRECONDITION when there is no loss at all; NOT_FOUND for
// unknown metrics.
StepValues make_step_values(ModelDefinition& model, const CompileOptions& options,
                            CallContext& context, const StepTensors& tensors, int64_t replicas,
                            const RunningMetricFn& running = nullptr);

}  // namespace systole::keras
