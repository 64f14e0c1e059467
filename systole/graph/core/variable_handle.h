// What stands for variables in a graph: nodes of VarHandleOp.
#pragma once

#include <vector>

#include "systole/graph/core/graph.h"

namespace systole {

// The VarHandleOp that a handle, also one captured by a function, stands for.
// Errors: INVALID_ARGUMENT when it is no handle.
const Node& variable_node(Output handle);

// The type of the values it holds.
TensorType variable_type(const Node& handle);

// The variables that the function assigns, also in functions of its nodes, in the order of their
// nodes.
std::vector<const Node*> assigned_variables(const Graph& function);

}  // namespace systole
