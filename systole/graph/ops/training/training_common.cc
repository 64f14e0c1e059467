#include "systole/graph/ops/training/training_common.h"

namespace systole {

std::vector<TensorType> infer_update(const InferContext& context, int num_handles,
                                     int gradient_index) {
  const TensorType type = variable_type(variable_node(context.inputs[0]));
  if (!is_floating(type.dtype)) {
    throw invalid_argument("variable '{}', got {}, expected a floating dtype",
                           context.inputs[0].node()->name(), type);
  }
  for (int i = 0; i < context.num_inputs(); ++i) {
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

}  // namespace systole
