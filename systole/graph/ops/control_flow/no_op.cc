#include "systole/graph/api/array_ops.h"
#include "systole/graph/core/op_def.h"

namespace systole {

Operation no_op(std::string_view name, Input::Where where) {
  return Graph::current().add_node("NoOp", {}, {}, where, name);
}

namespace ops {
extern const OpDef op_no_op{
    .name = "NoOp",
    .doc = "Does nothing; waits for its control dependencies.",
    .infer = [](const InferContext&) { return std::vector<TensorType>(); },
    .lower = [](LowerContext&) { return std::vector<hlo::Value>(); },
    .traits = {.blocks_gradient = true},
};
}  // namespace ops
}  // namespace systole
