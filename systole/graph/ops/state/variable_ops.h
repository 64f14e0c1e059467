// What the ops on variables share.
#pragma once

#include <vector>

#include "systole/graph/op_def.h"

namespace systole {

// The VarHandleOp that a handle, also one captured by a function, stands for.
// Errors: INVALID_ARGUMENT when it is no handle.
const Node& variable_node(Output handle);

// The type of the values it holds.
TensorType variable_type(const Node& handle);

// Inference of (handle, value) for an op that assigns.
std::vector<TensorType> infer_assignment(const InferContext& c);

// Checks that input `indices` are integers [n] and input `rows` as many rows of the variable.
// Errors: INVALID_ARGUMENT.
void check_rows(const InferContext& c, const Node& handle, int indices, int rows);

// Lowering of (handle, value) for an op that assigns: the variable's value so far and `value`
// combined by a binary opcode.
std::vector<hlo::Value> lower_assignment(LowerContext& c, hlo::Opcode combine);
template <hlo::Opcode kCombine>
std::vector<hlo::Value> lower_assignment(LowerContext& c) {
  return lower_assignment(c, kCombine);
}

// The variables that the function assigns, also in functions of its nodes, in the order of their
// nodes.
std::vector<const Node*> assigned_variables(const Graph& function);

}  // namespace systole
