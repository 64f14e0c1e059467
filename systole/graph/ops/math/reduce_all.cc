#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/ops/math/reduction.h"

namespace systole {

Output reduce_all(const Input& input_tensor, const ReduceOptions& options) {
  return reduction_op("All", input_tensor, options);
}

namespace ops {
extern const OpDef op_reduce_all{
    .name = "All",
    .doc = "Whether all elements over axes are true.",
    .inputs = "input: bool, reduction_indices: Tidx",
    .outputs = "output: bool",
    .attrs = "keep_dims: bool = false",
    .infer = infer_reduction<DTypeClass::boolean>,
    .lower = lower_reduction<hlo::Opcode::and_>,
    .batch = {.rule = batch_axes_input},
    .traits = {.blocks_gradient = true},
};
}  // namespace ops
}  // namespace systole
