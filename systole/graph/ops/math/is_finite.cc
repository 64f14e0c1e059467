#include "systole/graph/api/math_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/ops/math/elementwise.h"

namespace systole {

Output is_finite(const Input& x, const NameOptions& options) {
  return add_op("IsFinite", {x}, options.name);
}

namespace ops {
extern const OpDef op_is_finite{
    .name = "IsFinite",
    .doc = "Whether x is neither infinite nor NaN.",
    .inputs = "x: T",
    .outputs = "y: bool",
    .infer = infer_test<DTypeClass::floating>,
    .lower = lower_unary<hlo::Opcode::is_finite>,
    .batch = {.rule = batch_elementwise},
    .traits = {.blocks_gradient = true},
};
}  // namespace ops
}  // namespace systole
