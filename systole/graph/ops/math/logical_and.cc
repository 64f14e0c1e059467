#include "systole/graph/api/math_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/ops/math/elementwise.h"

namespace systole {

Output logical_and(const Input& x, const Input& y, const NameOptions& options) {
  return add_logical_op("LogicalAnd", {x, y}, options.name);
}

namespace ops {
extern const OpDef op_logical_and{
    .name = "LogicalAnd",
    .doc = "x and y.",
    .inputs = "x: bool, y: bool",
    .outputs = "z: bool",
    .infer = infer_binary<DTypeClass::boolean>,
    .lower = lower_binary<hlo::Opcode::and_>,
    .batch = {.rule = batch_elementwise},
    .traits = {.blocks_gradient = true},
};
}  // namespace ops
}  // namespace systole
