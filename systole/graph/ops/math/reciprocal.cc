#include "systole/graph/api/math_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/ops/math/elementwise.h"

namespace systole {
namespace {

std::vector<hlo::Value> lower_reciprocal(LowerContext& c) {
  return {c.b.divide(c.b.splat_like(c.input(0), 1), c.input(0))};
}

std::vector<Output> reciprocal_gradient(GradientContext& c) {
  return {-c.grad() * square(c.output())};
}

}  // namespace

Output reciprocal(const Input& x, const NameOptions& options) {
  return add_op("Reciprocal", {x}, options.name);
}

namespace ops {
extern const OpDef op_reciprocal{
    .name = "Reciprocal",
    .doc = "1 / x.",
    .inputs = "x: T",
    .outputs = "y: T",
    .graph_def = {.aliases = "Inv"},
    .infer = infer_unary<DTypeClass::floating>,
    .lower = lower_reciprocal,
    .gradient = reciprocal_gradient,
    .batch = {.rule = batch_elementwise},
};
}  // namespace ops
}  // namespace systole
