#include "systole/graph/api/math_ops.h"
#include "systole/graph/ops/math/elementwise.h"
#include "systole/graph/ops/string/string_common.h"

namespace systole {

Output equal(const Input& x, const Input& y, const NameOptions& options) {
  return add_op("Equal", {x, y}, options.name);
}

namespace ops {
extern const OpDef op_equal;
const OpDef op_equal{
    .name = "Equal",
    .doc = "x == y.",
    .infer = infer_equality,
    .lower = lower_comparison<hlo::ComparisonDirection::eq>,
    .blocks_gradient = true,
};
}  // namespace ops
}  // namespace systole
