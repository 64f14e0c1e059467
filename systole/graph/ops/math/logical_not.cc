#include "systole/graph/api/math_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/ops/math/elementwise.h"

namespace systole {

Output logical_not(const Input& x, const NameOptions& options) {
  return add_logical_op("LogicalNot", {x}, options.name);
}

namespace ops {
extern const OpDef op_logical_not{
    .name = "LogicalNot",
    .doc = "not x.",
    .inputs = "x: bool",
    .outputs = "y: bool",
    .infer = infer_unary<DTypeClass::boolean>,
    .lower = lower_unary<hlo::Opcode::not_>,
    .batch = {.rule = batch_elementwise},
    .traits = {.blocks_gradient = true},
};
}  // namespace ops
}  // namespace systole
