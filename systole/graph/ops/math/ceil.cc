#include "systole/graph/api/math_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/ops/math/elementwise.h"

namespace systole {

Output ceil(const Input& x, const NameOptions& options) {
  return add_op("Ceil", {x}, options.name);
}

namespace ops {
extern const OpDef op_ceil{
    .name = "Ceil",
    .doc = "The smallest integer not below x.",
    .inputs = "x: T",
    .outputs = "y: T",
    .infer = infer_unary<DTypeClass::floating>,
    .lower = lower_unary<hlo::Opcode::ceil>,
    .batch = {.rule = batch_elementwise},
    .traits = {.blocks_gradient = true},
};
}  // namespace ops
}  // namespace systole
