#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/ops/math/reduction.h"

namespace systole {

Output reduce_any(const Input& input_tensor, const ReduceOptions& options) {
  return reduction_op("Any", input_tensor, options);
}

namespace ops {
extern const OpDef op_reduce_any{
    .name = "Any",
    .doc = "Whether any element over axes is true.",
    .inputs = "input: bool, reduction_indices: Tidx",
    .outputs = "output: bool",
    .attrs = "keep_dims: bool = false",
    .infer = infer_reduction<DTypeClass::boolean>,
    .lower = lower_reduction<hlo::Opcode::or_>,
    .batch = {.rule = batch_axes_input},
    .traits = {.blocks_gradient = true},
};
}  // namespace ops
}  // namespace systole
