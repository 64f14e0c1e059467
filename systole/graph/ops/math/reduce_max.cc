#include "systole/graph/ops/math/reduction.h"

namespace systole {

Output reduce_max(const Input& input_tensor, const ReduceOptions& options) {
  return reduction_op("Max", input_tensor, options);
}

namespace ops {
extern const OpDef op_reduce_max;
const OpDef op_reduce_max{
    .name = "Max",
    .doc = "The largest element over axes.",
    .infer = infer_reduction<DTypeClass::number>,
    .lower = lower_reduction<hlo::Opcode::maximum>,
    .gradient = extremum_gradient,
};
}  // namespace ops
}  // namespace systole
