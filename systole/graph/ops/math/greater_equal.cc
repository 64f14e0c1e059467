#include "systole/graph/api/math_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/ops/math/elementwise.h"

namespace systole {

Output greater_equal(const Input& x, const Input& y, const NameOptions& options) {
  return add_op("GreaterEqual", {x, y}, options.name);
}

namespace ops {
extern const OpDef op_greater_equal{
    .name = "GreaterEqual",
    .doc = "x >= y.",
    .inputs = "x: T, y: T",
    .outputs = "z: bool",
    .infer = infer_comparison<DTypeClass::number>,
    .lower = lower_comparison<hlo::ComparisonDirection::ge>,
    .batch = {.rule = batch_elementwise},
    .traits = {.blocks_gradient = true},
};
}  // namespace ops
}  // namespace systole
