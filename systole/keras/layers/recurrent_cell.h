// Cells: one step of a recurrence. (tf.keras: the cells of RNN)
#pragma once

#include <memory>
#include <vector>

#include "systole/keras/engine/layer.h"

namespace systole::keras::layers {

// One step of a recurrence. Derive from it for RNN(cell): the least is class_name(), state_sizes(),
// build() with the shape [batch, depth], and step(). Bidirectional and files need config() and a
// registered class besides.
class RecurrentCell : public LayerDefinition {
 public:
  // Units of each state; the first is the output's where output_size() is not overridden.
  virtual std::vector<int64_t> state_sizes() const = 0;
  virtual int64_t output_size() const { return state_sizes().at(0); }
  // The place of the state that a masked first step gives as output.
  virtual size_t output_state() const { return 0; }

  // Called once before the steps of a sequence, outside of their loop: the place to draw dropout
  // masks. `batch`: the number of rows, s32 [].
  virtual void begin(CallContext& context, const Output& batch) {
    static_cast<void>(context);
    static_cast<void>(batch);
  }
  // What steps need of the inputs [time, batch, depth], computed for all steps at once: products
  // with the kernel. Each result has the axis of time first. Called after begin().
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
  // As step(), from x [batch, depth].
  Step project_and_step(CallContext& context, const Output& x, const std::vector<Output>& states);

  // One step as a layer: inputs are (x, states...), outputs (y, states...).
  std::vector<Output> call(CallContext& context, const std::vector<Output>& inputs) override;
  // A cell with the same arguments and weights of its own. By default made from config(), by the
  // registered class. Errors: those of layer_from_json.
  virtual std::shared_ptr<RecurrentCell> copy() const;
};

// The cell that a layer is. Errors: INVALID_ARGUMENT when it is none.
std::shared_ptr<RecurrentCell> cell_of(const Layer& layer);

}  // namespace systole::keras::layers
