#include "systole/graph/ops/state/variable_ops.h"

#include "systole/graph/api/array_ops.h"
#include "systole/graph/lowering/specialize.h"

namespace systole {

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

const Variable& import_variable(const ImportContext& c) {
  const auto& shape = c.attr<Shape>("shape");
  if (!shape.is_static()) {
    throw unimplemented("shape of a variable, got {}, expected known sizes", shape);
  }
  const std::string name(c.name);
  const Variable variable(zeros(shape, c.attr<DType>("dtype")), {.name = name, .trainable = false});
  return c.variables->emplace(name, variable).first->second;
}

}  // namespace systole
