#include "systole/keras/layers/gate_cell.h"

#include <utility>

#include "systole/base/error.h"
#include "systole/graph/api/math_ops.h"
#include "systole/keras/engine/layer_class.h"
#include "systole/keras/layers/recurrent_dropout.h"

namespace systole::keras::layers {

GateCell::GateCell(GateArguments arguments) : a_(std::move(arguments)) {
  if (a_.units < 1 || a_.units > kMaxLayerSize) {
    throw invalid_argument("units, got {}, expected an integer from 1 to {}", a_.units,
                           kMaxLayerSize);
  }
  const auto check_rate = [](const char* argument, double rate) {
    if (rate >= 0 && rate < 1) return;
    throw invalid_argument("{}, got {}, expected a number in [0, 1)", argument, rate);
  };
  check_rate("dropout", a_.dropout);
  check_rate("recurrent_dropout", a_.recurrent_dropout);
}

void GateCell::build(const std::vector<Shape>& input_shapes) {
  depth_ = input_shapes.at(0)[1];
  kernel_ = add_weight("kernel", {depth_, a_.gates * a_.units},
                       {.initializer = a_.kernel_initializer.for_weight(),
                        .regularizer = a_.kernel_regularizer.function(),
                        .constraint = a_.kernel_constraint.function()});
  recurrent_kernel_ = add_weight("recurrent_kernel", {a_.units, a_.gates * a_.units},
                                 {.initializer = a_.recurrent_initializer.for_weight(),
                                  .regularizer = a_.recurrent_regularizer.function(),
                                  .constraint = a_.recurrent_constraint.function()});
  if (!a_.use_bias) return;
  bias_ = add_weight("bias", bias_shape(),
                     {.initializer = bias_initializer(),
                      .regularizer = a_.bias_regularizer.function(),
                      .constraint = a_.bias_constraint.function()});
}

void GateCell::begin(CallContext& context, const Output& batch) {
  recurrent_ = recurrent_kernel(context);
  input_masks_.clear();
  recurrent_masks_.clear();
  if (!context.training()) return;
  if (a_.recurrent_dropout > 0) {
    recurrent_masks_ = dropout_masks(batch, a_.units, a_.recurrent_dropout, masks());
  }
  if (a_.dropout > 0) input_masks_ = dropout_masks(batch, depth_, a_.dropout, masks());
}

std::vector<Output> GateCell::project(CallContext& context, const Output& inputs) {
  const Output w = kernel(context);
  const Output product = input_masks_.empty() ? tensordot(inputs, w, {{2}, {0}})
                                              : project_with_masks(inputs, w, input_masks_);
  return {a_.use_bias ? product + input_bias(context) : product};
}

Output GateCell::recurrent_product_of(const Output& h) const {
  return recurrent_product(h, recurrent_, recurrent_masks_, static_cast<int>(a_.gates));
}

}  // namespace systole::keras::layers
