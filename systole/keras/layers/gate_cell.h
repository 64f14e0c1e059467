// What the cells of LSTM, GRU and SimpleRNN share: one kernel for all gates, and dropout.
#pragma once

#include "systole/keras/functions/constraint.h"
#include "systole/keras/functions/initializer.h"
#include "systole/keras/functions/regularizer.h"
#include "systole/keras/layers/recurrent_cell.h"

namespace systole::keras::layers {

struct GateArguments {
  int64_t units = 0;
  int64_t gates = 1;
  bool use_bias = true;
  InitializerSpec kernel_initializer;
  InitializerSpec recurrent_initializer;
  InitializerSpec bias_initializer;
  RegularizerSpec kernel_regularizer;
  RegularizerSpec recurrent_regularizer;
  RegularizerSpec bias_regularizer;
  ConstraintSpec kernel_constraint;
  ConstraintSpec recurrent_constraint;
  ConstraintSpec bias_constraint;
  double dropout = 0;
  double recurrent_dropout = 0;
  bool one_mask = false;  // for all gates: implementation 2
};

// The arguments of a cell with options O. Errors: INVALID_ARGUMENT `<layer>: units, got 0, ...`,
// also for rates outside of [0, 1).
template <class O>
GateArguments gate_arguments(const O& o, int64_t gates) {
  GateArguments made{.units = o.units,
                     .gates = gates,
                     .use_bias = o.use_bias,
                     .kernel_initializer = o.kernel_initializer,
                     .recurrent_initializer = o.recurrent_initializer,
                     .bias_initializer = o.bias_initializer,
                     .kernel_regularizer = o.kernel_regularizer,
                     .recurrent_regularizer = o.recurrent_regularizer,
                     .bias_regularizer = o.bias_regularizer,
                     .kernel_constraint = o.kernel_constraint,
                     .recurrent_constraint = o.recurrent_constraint,
                     .bias_constraint = o.bias_constraint,
                     .dropout = o.dropout,
                     .recurrent_dropout = o.recurrent_dropout};
  if constexpr (requires { o.implementation; }) made.one_mask = o.implementation == 2;
  return made;
}

// A cell with the weights kernel [depth, gates * units], recurrent_kernel [units, gates * units]
// and bias. project() returns inputs * kernel + input_bias(): [time, batch, gates * units].
class GateCell : public RecurrentCell {
 public:
  explicit GateCell(GateArguments arguments);

  std::vector<int64_t> state_sizes() const override { return {a_.units}; }
  void build(const std::vector<Shape>& input_shapes) override;
  void begin(CallContext& context, const Output& batch) override;
  std::vector<Output> project(CallContext& context, const Output& inputs) override;

 protected:
  // The bias as it is stored.
  virtual Shape bias_shape() const { return {a_.gates * a_.units}; }
  virtual Initializer bias_initializer() const { return a_.bias_initializer.for_weight(); }
  // The weights as products use them.
  virtual Output kernel(CallContext& context) const { return context.value(kernel_); }
  virtual Output recurrent_kernel(CallContext& context) const {
    return context.value(recurrent_kernel_);
  }
  // [gates * units]. REQUIRES: use_bias.
  virtual Output input_bias(CallContext& context) const { return context.value(bias_); }

  // h [batch, units] times the recurrent kernel, with dropout: [batch, gates * units]. Of the
  // sequence that began last.
  Output recurrent_product_of(const Output& h) const;

  int64_t units() const { return a_.units; }
  int64_t gates() const { return a_.gates; }
  bool use_bias() const { return a_.use_bias; }
  const WeightPtr& bias() const { return bias_; }
  const Output& recurrent() const { return recurrent_; }
  // Returns the masks of the states: none, one, or one a gate.
  const std::vector<Output>& recurrent_masks() const { return recurrent_masks_; }

 private:
  int masks() const { return a_.one_mask ? 1 : static_cast<int>(a_.gates); }

  const GateArguments a_;
  int64_t depth_ = 0;
  WeightPtr kernel_;
  WeightPtr recurrent_kernel_;
  WeightPtr bias_;
  // The recurrent kernel of the sequence that began last.
  Output recurrent_;
  std::vector<Output> input_masks_;
  std::vector<Output> recurrent_masks_;
};

}  // namespace systole::keras::layers
