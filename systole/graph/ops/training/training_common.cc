#include "systole/graph/ops/training/training_common.h"

#include "systole/graph/lowering/rows.h"

namespace systole {
namespace {

constexpr std::string_view kForAll = "ResourceApply";
constexpr std::string_view kForRows = "ResourceSparseApply";

}  // namespace

Operation add_update(std::string_view name, std::vector<Output> inputs, int gradient_index,
                     const Output& indices, AttrMap attrs) {
  std::string op(name);
  if (indices.valid()) {
    op.replace(0, kForAll.size(), kForRows);
    inputs.insert(inputs.begin() + gradient_index + 1, indices);
  }
  return Graph::current().add_node(op, std::move(inputs), std::move(attrs));
}

std::vector<TensorType> infer_update(const InferContext& context, int num_handles,
                                     int gradient_index) {
  const Node& variable = variable_node(context.inputs[0]);
  const TensorType type = variable_type(variable);
  if (!is_floating(type.dtype)) {
    throw invalid_argument("variable '{}', got {}, expected a floating dtype",
                           context.inputs[0].node()->name(), type);
  }
  const bool of_rows = context.op_name.starts_with(kForRows);
  if (of_rows) check_rows(context, variable, gradient_index + 1, gradient_index);
  for (int i = 0; i < context.num_inputs(); ++i) {
    if (of_rows && (i == gradient_index || i == gradient_index + 1)) continue;
    const Output& input = context.inputs[static_cast<size_t>(i)];
    if (i < num_handles) {
      const TensorType slot = variable_type(variable_node(input));
      if (slot != type) {
        throw invalid_argument("slot '{}', got {}, expected the variable's {}",
                               input.node()->name(), slot, type);
      }
      continue;
    }
    const Shape expected = i == gradient_index ? type.shape : Shape{};
    if (input.dtype() != type.dtype || !input.shape().compatible_with(expected)) {
      throw invalid_argument("{} '{}', got {}, expected {}",
                             i == gradient_index ? "gradient" : "hyperparameter", input.name(),
                             input.type(), TensorType{type.dtype, expected});
    }
  }
  return {};
}

UpdateLowering::UpdateLowering(LowerContext& context, int gradient_index)
    : c_(context),
      gradient_index_(gradient_index),
      of_rows_(context.node.op_name().starts_with(kForRows)) {}

hlo::Value UpdateLowering::variable(int input) const {
  const hlo::Value all = c_.lowering.read_variable(handle(input), /*at_start=*/false);
  return of_rows_ ? gather_rows(c_.b, all, c_.input(gradient_index_ + 1)) : all;
}

void UpdateLowering::assign(int input, hlo::Value value) const {
  if (of_rows_) {
    const hlo::Value all = c_.lowering.read_variable(handle(input), /*at_start=*/false);
    value = replace_rows(c_.b, all, c_.input(gradient_index_ + 1), value);
  }
  c_.lowering.assign_variable(handle(input), value);
}

}  // namespace systole
