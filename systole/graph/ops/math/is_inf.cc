#include <limits>

#include "systole/graph/api/math_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/ops/math/elementwise.h"

namespace systole {
namespace {

std::vector<hlo::Value> lower_is_inf(LowerContext& c) {
  const hlo::Value size = c.b.unary(hlo::Opcode::abs, c.input(0));
  return {compare_with(c.b, size, hlo::ComparisonDirection::eq,
                       std::numeric_limits<double>::infinity())};
}

}  // namespace

Output is_inf(const Input& x, const NameOptions& options) {
  return add_op("IsInf", {x}, options.name);
}

namespace ops {
extern const OpDef op_is_inf{
    .name = "IsInf",
    .doc = "Whether x is infinite, of either sign.",
    .inputs = "x: T",
    .outputs = "y: bool",
    .infer = infer_test<DTypeClass::floating>,
    .lower = lower_is_inf,
    .batch = {.rule = batch_elementwise},
    .traits = {.blocks_gradient = true},
};
}  // namespace ops
}  // namespace systole
