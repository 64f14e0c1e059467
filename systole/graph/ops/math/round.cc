#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/ops/math/elementwise.h"

namespace systole {

Output round(const Input& x, const NameOptions& options) {
  if (is_integer(x.dtype())) return identity(x, options);
  return add_op("Round", {x}, options.name);
}

namespace ops {
extern const OpDef op_round{
    .name = "Round",
    .doc = "The integer nearest to x, halves to the even one.",
    .inputs = "x: T",
    .outputs = "y: T",
    .infer = infer_unary<DTypeClass::floating>,
    .lower = lower_unary<hlo::Opcode::round_nearest_even>,
    .batch = {.rule = batch_elementwise},
    .traits = {.blocks_gradient = true},
};
}  // namespace ops
}  // namespace systole
