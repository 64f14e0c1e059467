#include "systole/graph/core/variable_handle.h"

#include <algorithm>

#include "systole/graph/core/constant_value.h"
#include "systole/graph/core/op_def.h"

namespace systole {

const Node& variable_node(Output handle) {
  const Output outside = resolve_capture(handle);
  if (outside.node()->op_name() != "VarHandleOp") {
    throw invalid_argument("variable handle, got '{}' ({}), expected the handle of a variable",
                           handle.name(), outside.node()->op_name());
  }
  return *outside.node();
}

TensorType variable_type(const Node& handle) {
  return {handle.attr<DType>("dtype"), handle.attr<Shape>("shape")};
}

std::vector<const Node*> assigned_variables(const Graph& function) {
  std::vector<const Node*> result;
  for (const auto& node : function.nodes()) {
    for (const Output& input : node->inputs()) {
      const bool assigns = node->op().traits.stateful && node->num_outputs() == 0;
      if (assigns && input.dtype() == DType::resource) result.push_back(&variable_node(input));
    }
    for (const auto& [name, value] : node->attrs()) {
      if (const auto* inner = std::get_if<FunctionRef>(&value)) {
        const auto more = assigned_variables(**inner);
        result.insert(result.end(), more.begin(), more.end());
      }
    }
  }
  std::ranges::sort(result, {}, &Node::id);
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

}  // namespace systole
