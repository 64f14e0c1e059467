// What the optimizer update ops of graph/ops share.
#pragma once

#include <string_view>
#include <vector>

#include "systole/graph/lowering/specialize.h"
#include "systole/graph/op_def.h"
#include "systole/graph/ops/state/variable_ops.h"

namespace systole {

// Checks an update op: the first `num_handles` inputs are variables of one type, `gradient_index`
// is a tensor of that type, and all others are scalars of its dtype. Returns no outputs. Errors:
// INVALID_ARGUMENT names the input.
std::vector<TensorType> infer_update(const InferContext& context, int num_handles,
                                     int gradient_index);

// Arithmetic of one update: variables by input position, scalars broadcast to the variable's shape.
class UpdateLowering {
 public:
  explicit UpdateLowering(LowerContext& context) : c_(context) {}

  hlo::Value variable(int input) const {
    return c_.lowering.read_variable(handle(input), /*at_start=*/false);
  }
  void assign(int input, hlo::Value value) const {
    c_.lowering.assign_variable(handle(input), value);
  }
  hlo::Value tensor(int input) const { return c_.input(input); }
  // The scalar input spread over the variable's shape.
  hlo::Value scalar(int input) const { return spread(c_.input(input)); }
  hlo::Value spread(hlo::Value scalar) const { return c_.b.broadcast(scalar, variable(0).shape()); }
  // 1 - x, elementwise.
  hlo::Value complement(hlo::Value x) const { return c_.b.subtract(c_.b.splat_like(x, 1), x); }
  // value + rate * (target - value)
  hlo::Value move_towards(hlo::Value value, hlo::Value target, hlo::Value rate) const {
    return c_.b.add(value, c_.b.multiply(rate, c_.b.subtract(target, value)));
  }

 private:
  const Node& handle(int input) const { return variable_node(c_.node.input(input)); }
  LowerContext& c_;
};

}  // namespace systole
