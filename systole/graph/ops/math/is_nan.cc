#include "systole/graph/api/math_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/ops/math/elementwise.h"

namespace systole {
namespace {

std::vector<hlo::Value> lower_is_nan(LowerContext& c) {
  return {c.b.compare(c.input(0), c.input(0), hlo::ComparisonDirection::ne)};
}

}  // namespace

Output is_nan(const Input& x, const NameOptions& options) {
  return add_op("IsNan", {x}, options.name);
}

namespace ops {
extern const OpDef op_is_nan{
    .name = "IsNan",
    .doc = "Whether x is NaN.",
    .inputs = "x: T",
    .outputs = "y: bool",
    .infer = infer_test<DTypeClass::floating>,
    .lower = lower_is_nan,
    .batch = {.rule = batch_elementwise},
    .traits = {.blocks_gradient = true},
};
}  // namespace ops
}  // namespace systole
