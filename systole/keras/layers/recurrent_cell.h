// Cells of recurrent layers, and the loop over the steps of a sequence that all recurrent layers
// share.
#pragma once

#include <memory>
#include <vector>

#include "systole/keras/layer.h"

namespace systole::keras::layers {

// One step of a recurrence. Derive from it for RNN(cell).
class RecurrentCell : public LayerDefinition {
 public:
  // Units of each state; the first is the output's where output_size() is not overridden.
  virtual std::vector<int64_t> state_sizes() const = 0;
  virtual int64_t output_size() const { return state_sizes().at(0); }

  // What steps need of the inputs [time, batch, depth], computed for all steps at once: products
  // with the kernel. Each result has the axis of time first. Called once before the loop.
  virtual std::vector<Output> project(CallContext& context, const Output& inputs) {
    static_cast<void>(context);
    return {inputs};
  }
  struct Step {
    Output output;  // [batch, output_size]
    std::vector<Output> states;
  };
  // `inputs`: project()'s results at this step.
  virtual Step step(CallContext& context, const std::vector<Output>& inputs,
                    const std::vector<Output>& states) = 0;

  // One step as a layer: inputs are (x, states...), outputs (y, states...).
  std::vector<Output> call(CallContext& context, const std::vector<Output>& inputs) override;
};

struct RecurrenceOptions {
  bool return_sequences = false;
  bool return_state = false;
  bool go_backwards = false;
  bool stateful = false;
  bool unroll = false;
};

// Base of recurrent layers: a cell, applied to [batch, time, depth] from the first step to the
// last. A masked step keeps the states and repeats the output before it.
class RecurrentLayer : public LayerDefinition {
 public:
  RecurrentLayer(std::shared_ptr<RecurrentCell> cell, RecurrenceOptions recurrence);

  MaskSupport mask_support() const override { return MaskSupport::custom; }
  void build(const std::vector<Shape>& input_shapes) override;
  // Inputs: the sequence, then initial states if given. Outputs: the last output or all of them,
  // then the last states if asked for.
  std::vector<Output> call(CallContext& context, const std::vector<Output>& inputs) override;
  std::vector<std::shared_ptr<LayerDefinition>> sublayers() const override { return {cell_}; }

  const RecurrenceOptions& recurrence() const { return recurrence_; }
  const std::shared_ptr<RecurrentCell>& cell() const { return cell_; }
  // Sets the states of a stateful layer, to zero when `states` is empty. Errors:
  // FAILED_PRECONDITION when the layer is not stateful.
  void reset_states(const std::vector<Tensor>& states = {});

 private:
  std::vector<Output> initial_states(CallContext& context, const Output& x,
                                     const std::vector<Output>& given) const;

  std::shared_ptr<RecurrentCell> cell_;
  RecurrenceOptions recurrence_;
  std::vector<WeightPtr> states_;  // of a stateful layer
};

}  // namespace systole::keras::layers
