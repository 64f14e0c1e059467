#include "systole/graph/ops/state/variable_ops.h"

#include <algorithm>

#include "systole/graph/lowering/constant_value.h"
#include "systole/graph/lowering/specialize.h"

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

std::vector<TensorType> infer_assignment(const InferContext& c) {
  const Node& handle = variable_node(c.inputs[0]);
  const TensorType wanted = variable_type(handle);
  const TensorType& got = c.input(1);
  if (got.dtype != wanted.dtype || !got.shape.compatible_with(wanted.shape)) {
    throw invalid_argument("value for variable '{}', got {}, expected {}", handle.name(), got,
                           wanted);
  }
  return {};
}

void check_rows(const InferContext& c, const Node& handle, int indices, int rows) {
  const TensorType variable = variable_type(handle);
  const TensorType& numbers = c.input(indices);
  if (variable.shape.rank() < 1 || !is_integer(numbers.dtype) || numbers.shape.rank() != 1) {
    throw invalid_argument("indices for variable '{}' of {}, got {}, expected a vector of integers",
                           handle.name(), variable, numbers);
  }
  TensorType wanted = variable;
  wanted.shape.set_dim(0, numbers.shape[0]);
  const TensorType& got = c.input(rows);
  if (got.dtype == wanted.dtype && got.shape.compatible_with(wanted.shape)) return;
  throw invalid_argument("rows for variable '{}', got {}, expected {}", handle.name(), got, wanted);
}

std::vector<hlo::Value> lower_assignment(LowerContext& c, hlo::Opcode combine) {
  const Node& variable = variable_node(c.node.input(0));
  const hlo::Value before = c.lowering.read_variable(variable, /*at_start=*/false);
  c.lowering.assign_variable(variable, c.b.binary(combine, before, c.input(1)));
  return {};
}

std::vector<const Node*> assigned_variables(const Graph& function) {
  std::vector<const Node*> result;
  for (const auto& node : function.nodes()) {
    for (const Output& input : node->inputs()) {
      const bool assigns = node->op().stateful && node->num_outputs() == 0;
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
