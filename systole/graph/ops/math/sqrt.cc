#include "systole/graph/api/math_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/ops/math/elementwise.h"

namespace systole {
namespace {

std::vector<Output> sqrt_gradient(GradientContext& c) { return {0.5 * c.grad() / c.output()}; }

}  // namespace

Output sqrt(const Input& x, const NameOptions& options) {
  return add_op("Sqrt", {x}, options.name);
}

namespace ops {
extern const OpDef op_sqrt{
    .name = "Sqrt",
    .doc = "The square root of x.",
    .inputs = "x: T",
    .outputs = "y: T",
    .infer = infer_unary<DTypeClass::floating>,
    .lower = lower_unary<hlo::Opcode::sqrt>,
    .gradient = sqrt_gradient,
    .batch = {.rule = batch_elementwise},
};
}  // namespace ops
}  // namespace systole
