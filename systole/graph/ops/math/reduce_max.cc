#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/ops/math/reduction.h"

namespace systole {

Output reduce_max(const Input& input_tensor, const ReduceOptions& options) {
  return reduction_op("Max", input_tensor, options);
}

namespace ops {
extern const OpDef op_reduce_max{
    .name = "Max",
    .doc = "The largest element over axes.",
    .inputs = "input: T, reduction_indices: Tidx",
    .outputs = "output: T",
    .attrs = "keep_dims: bool = false",
    .infer = infer_reduction<DTypeClass::number>,
    .lower = lower_reduction<hlo::Opcode::maximum>,
    .gradient = extremum_gradient,
    .batch = {.rule = batch_axes_input},
};
}  // namespace ops
}  // namespace systole
