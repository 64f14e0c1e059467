#include "systole/graph/api/math_ops.h"
#include "systole/graph/ops/math/elementwise.h"
#include "systole/graph/ops/string/string_common.h"

namespace systole {

Output not_equal(const Input& x, const Input& y, const NameOptions& options) {
  return add_op("NotEqual", {x, y}, options.name);
}

namespace ops {
extern const OpDef op_not_equal;
const OpDef op_not_equal{
    .name = "NotEqual",
    .doc = "x != y.",
    .infer = infer_equality,
    .lower = lower_comparison<hlo::ComparisonDirection::ne>,
    .blocks_gradient = true,
};
}  // namespace ops
}  // namespace systole
