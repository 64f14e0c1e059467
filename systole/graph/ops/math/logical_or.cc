#include "systole/graph/api/math_ops.h"
#include "systole/graph/ops/math/elementwise.h"

namespace systole {

Output logical_or(const Input& x, const Input& y, const NameOptions& options) {
  return add_logical_op("LogicalOr", {x, y}, options.name);
}

namespace ops {
extern const OpDef op_logical_or;
const OpDef op_logical_or{
    .name = "LogicalOr",
    .doc = "x or y.",
    .infer = infer_binary<DTypeClass::boolean>,
    .lower = lower_binary<hlo::Opcode::or_>,
    .blocks_gradient = true,
};
}  // namespace ops
}  // namespace systole
