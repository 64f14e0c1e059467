#include "systole/graph/api/math_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/ops/math/elementwise.h"

namespace systole {
namespace {

std::vector<hlo::Value> lower_square(LowerContext& c) {
  return {c.b.multiply(c.input(0), c.input(0))};
}

std::vector<Output> square_gradient(GradientContext& c) { return {c.grad() * (2 * c.input(0))}; }

}  // namespace

Output square(const Input& x, const NameOptions& options) {
  return add_op("Square", {x}, options.name);
}

namespace ops {
extern const OpDef op_square{
    .name = "Square",
    .doc = "x * x.",
    .inputs = "x: T",
    .outputs = "y: T",
    .infer = infer_unary<DTypeClass::number>,
    .lower = lower_square,
    .gradient = square_gradient,
    .batch = {.rule = batch_elementwise},
};
}  // namespace ops
}  // namespace systole
