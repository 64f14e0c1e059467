#include "systole/graph/api/math_ops.h"
#include "systole/graph/ops/math/elementwise.h"

namespace systole {

Output logical_and(const Input& x, const Input& y, const NameOptions& options) {
  return add_logical_op("LogicalAnd", {x, y}, options.name);
}

namespace ops {
extern const OpDef op_logical_and;
const OpDef op_logical_and{
    .name = "LogicalAnd",
    .doc = "x and y.",
    .infer = infer_binary<DTypeClass::boolean>,
    .lower = lower_binary<hlo::Opcode::and_>,
    .blocks_gradient = true,
};
}  // namespace ops
}  // namespace systole
