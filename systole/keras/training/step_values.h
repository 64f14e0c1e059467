// What a step of a compiled model computes: the loss and the metrics.
#pragma once

#include <string>
#include <vector>

#include "systole/keras/training/trainer.h"

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

  const Output& loss() const { return values.at(0); }
  // A name that is taken gets a number.
  void add(const std::string& name, const Output& value);
};

// Builds them in the current graph: losses and metrics of the outputs, penalties on weights, and
// what layers added to `context`. Errors: INVALID_ARGUMENT when no output has a loss; NOT_FOUND for
// unknown metrics.
StepValues make_step_values(ModelDefinition& model, const CompileOptions& options,
                            CallContext& context, const StepTensors& tensors, int64_t replicas);

}  // namespace systole::keras
