#include "systole/graph/api/math_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/ops/math/elementwise.h"
#include "systole/graph/ops/string/string_common.h"

namespace systole {

Output equal(const Input& x, const Input& y, const NameOptions& options) {
  return add_op("Equal", {x, y}, options.name);
}

namespace ops {
extern const OpDef op_equal{
    .name = "Equal",
    .doc = "x == y.",
    .inputs = "x: T, y: T",
    .outputs = "z: bool",
    .infer = infer_equality,
    .lower = lower_comparison<hlo::ComparisonDirection::eq>,
    .batch = {.rule = batch_elementwise},
    .traits = {.blocks_gradient = true, .moves_elements = true},
};
}  // namespace ops
}  // namespace systole
