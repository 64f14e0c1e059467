#include "systole/keras/layers/gru_cell.h"

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/keras/layers/recurrent_dropout.h"

namespace systole::keras::layers {

GruCell::GruCell(const GRUOptions& options) : LayerOf(options, gate_arguments(options, 3)) {}

Shape GruCell::bias_shape() const {
  return options_.reset_after ? Shape{2, 3 * units()} : Shape{3 * units()};
}

Output GruCell::bias_row(CallContext& context, int64_t row) const {
  const Output rows = reshape(context.value(bias()), {2, 3 * units()});
  return gather(rows, static_cast<int32_t>(row));
}

Output GruCell::input_bias(CallContext& context) const {
  return options_.reset_after ? bias_row(context, 0) : context.value(bias());
}

void GruCell::begin(CallContext& context, const Output& batch) {
  GateCell::begin(context, batch);
  if (!options_.reset_after) {
    kernels_ = split(recurrent(), std::vector<int64_t>{2 * units(), units()}, {.axis = 1});
  } else if (use_bias()) {
    recurrent_bias_ = bias_row(context, 1);
  }
}

// From x [batch, units] of each gate.
Output GruCell::gated_candidate(const std::vector<Output>& x, const Output& r,
                                const Output& h) const {
  const std::vector<Output>& masks = recurrent_masks();
  const Output dropped = masks.empty() ? h : h * masks.back();
  return options_.activation(x[2] + matmul(r * dropped, kernels_[1]));
}

RecurrentCell::Step GruCell::step(CallContext&, const std::vector<Output>& inputs,
                                  const std::vector<Output>& states) {
  const Output& h = states.at(0);
  const std::vector<Output> x = split(inputs.at(0), 3, {.axis = 1});
  std::vector<Output> inner;
  if (options_.reset_after) {
    const Output product = recurrent_product_of(h);
    inner = split(use_bias() ? product + recurrent_bias_ : product, 3, {.axis = 1});
  } else {
    std::vector<Output> masks = recurrent_masks();
    if (masks.size() == 3) masks.pop_back();
    inner = split(recurrent_product(h, kernels_[0], masks, 2), 2, {.axis = 1});
  }
  const Output z = options_.recurrent_activation(x[0] + inner[0]);
  const Output r = options_.recurrent_activation(x[1] + inner[1]);
  const Output g =
      options_.reset_after ? options_.activation(x[2] + r * inner[2]) : gated_candidate(x, r, h);
  const Output next = z * h + (1.0F - z) * g;
  return {next, {next}};
}

LayerClass gru_cell_class() { return recurrent_class<GruCell, GRUOptions>(); }

GRUCell::GRUCell(int64_t units, GRUOptions options, Where where)
    : Layer(make_with_units<GruCell>(units, std::move(options), where)) {}

}  // namespace systole::keras::layers
