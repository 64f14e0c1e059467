// What the ops on variables share.
#pragma once

#include <vector>

#include "systole/graph/core/graph_def_node.h"
#include "systole/graph/core/op_def.h"
#include "systole/graph/core/variable_handle.h"

namespace systole {

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

// Adds the variable that a node with the attributes "shape" and "dtype" stands for.
// Errors: UNIMPLEMENTED for a shape that is not fully known.
const Variable& import_variable(const ImportContext& c);

}  // namespace systole
