// What the optimizer update ops of graph/ops share.
//
// Each rule has two ops of the same arithmetic: one for a gradient of the variable's shape, and
// "ResourceSparseApply..." for rows of it, whose input `indices` follows the gradient. Positions
// of inputs below are those of the first.
#pragma once

#include <string_view>
#include <vector>

#include "systole/graph/lowering/specialize.h"
#include "systole/graph/op_def.h"
#include "systole/graph/ops/state/variable_ops.h"

namespace systole {

// Adds the op `name` ("ResourceApplyMomentum"), or with valid `indices` its form for rows.
Operation add_update(std::string_view name, std::vector<Output> inputs, int gradient_index,
                     const Output& indices, AttrMap attrs = {});

// Checks an update op: the first `num_handles` inputs are variables of one type, `gradient_index`
// is a tensor of that type or rows of it, and all others are scalars of its dtype. Returns no
// outputs. Errors: INVALID_ARGUMENT names the input.
std::vector<TensorType> infer_update(const InferContext& context, int num_handles,
                                     int gradient_index);

// Arithmetic of one update: variables by input position, scalars broadcast to the variable's shape.
// In the form for rows, variables are their rows; those of an index outside are left out.
class UpdateLowering {
 public:
  UpdateLowering(LowerContext& context, int gradient_index);

  hlo::Value variable(int input) const;
  void assign(int input, hlo::Value value) const;
  hlo::Value tensor(int input) const { return c_.input(position(input)); }
  // The scalar input spread over the variable's shape.
  hlo::Value scalar(int input) const { return spread(tensor(input)); }
  hlo::Value spread(hlo::Value scalar) const {
    return c_.b.broadcast(scalar, tensor(gradient_index_).shape());
  }
  // 1 - x, elementwise.
  hlo::Value complement(hlo::Value x) const { return c_.b.subtract(c_.b.splat_like(x, 1), x); }
  // value + rate * (target - value)
  hlo::Value move_towards(hlo::Value value, hlo::Value target, hlo::Value rate) const {
    return c_.b.add(value, c_.b.multiply(rate, c_.b.subtract(target, value)));
  }

 private:
  int position(int input) const { return input > gradient_index_ && of_rows_ ? input + 1 : input; }
  const Node& handle(int input) const { return variable_node(c_.node.input(input)); }

  LowerContext& c_;
  int gradient_index_;
  bool of_rows_;
};

}  // namespace systole
