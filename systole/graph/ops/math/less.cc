#include "systole/graph/api/math_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/ops/math/elementwise.h"

namespace systole {

Output less(const Input& x, const Input& y, const NameOptions& options) {
  return add_op("Less", {x, y}, options.name);
}

namespace ops {
extern const OpDef op_less{
    .name = "Less",
    .doc = "x < y.",
    .inputs = "x: T, y: T",
    .outputs = "z: bool",
    .infer = infer_comparison<DTypeClass::number>,
    .lower = lower_comparison<hlo::ComparisonDirection::lt>,
    .batch = {.rule = batch_elementwise},
    .traits = {.blocks_gradient = true},
};
}  // namespace ops
}  // namespace systole
