// The loop over the steps of a sequence that all recurrent layers share, and their states.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "systole/keras/layers/recurrent_cell.h"

namespace systole::keras::layers {

struct RecurrenceOptions {
  bool return_sequences = false;
  bool return_state = false;
  bool go_backwards = false;
  bool stateful = false;
  bool unroll = false;
};

// Base of recurrent layers: a cell, applied to [batch, time, depth] from the first step to the
// last. A masked step keeps the states and repeats the output before it; before the first output
// that is the initial state, or zeros where the loop is unrolled. With go_backwards outputs and
// their mask are in the order of processing, last step first.
class RecurrentLayer : public LayerDefinition {
 public:
  RecurrentLayer(std::shared_ptr<RecurrentCell> cell, RecurrenceOptions recurrence);

  MaskSupport mask_support() const override { return MaskSupport::custom; }
  bool takes_initial_state() const override { return true; }
  void build(const std::vector<Shape>& input_shapes) override;
  // Inputs: the sequence, then initial states if given. Outputs: the last output or all of them,
  // then the last states if asked for.
  std::vector<Output> call(CallContext& context, const std::vector<Output>& inputs) override;
  std::vector<std::shared_ptr<LayerDefinition>> sublayers() const override { return {cell_}; }
  // An unbuilt layer with the same arguments that goes through the steps the other way round.
  virtual std::shared_ptr<RecurrentLayer> reversed() const = 0;

  const RecurrenceOptions& recurrence() const { return recurrence_; }
  const std::shared_ptr<RecurrentCell>& cell() const { return cell_; }

  // Each batch size of a stateful layer has states of its own, which all programs of all models
  // begin with and change: those that train, test and predict.
  bool stateful() const override { return recurrence_.stateful; }
  std::vector<WeightPtr> states() const override;
  // Values: one a state, [batch, units].
  void reset_states(const std::vector<Tensor>& values) override;

 protected:
  // The cell's weights count as the layer's own.
  std::string sublayer_scope(const std::string& scope, const LayerDefinition&) const override {
    return scope;
  }

 private:
  const std::vector<WeightPtr>& states_of(int64_t batch);
  std::vector<Output> initial_states(CallContext& context, const std::vector<Output>& inputs);
  void check_states(const std::vector<Output>& given) const;
  Output first_output(const Output& x, bool masked, const std::vector<Output>& states) const;
  struct Steps {
    std::vector<Output> last;  // output, states
    Output sequence;           // outputs [batch, time, units]; invalid when not asked for
  };
  // Carried values are (output, states...); elements [time, batch, ...] are the projections and, if
  // `masked`, the mask.
  Steps run_steps(CallContext& context, const std::vector<Output>& carried,
                  const std::vector<Output>& elements, bool masked);

  std::shared_ptr<RecurrentCell> cell_;
  RecurrenceOptions recurrence_;
  std::map<int64_t, std::vector<WeightPtr>> states_;  // by batch size
};

}  // namespace systole::keras::layers
