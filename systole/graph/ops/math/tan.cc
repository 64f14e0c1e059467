#include "systole/graph/api/math_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/ops/math/elementwise.h"

namespace systole {
namespace {

std::vector<Output> tan_gradient(GradientContext& c) {
  return {c.grad() * (1 + square(c.output()))};
}

}  // namespace

Output tan(const Input& x, const NameOptions& options) { return add_op("Tan", {x}, options.name); }

namespace ops {
extern const OpDef op_tan{
    .name = "Tan",
    .doc = "The tangent of x radians.",
    .inputs = "x: T",
    .outputs = "y: T",
    .infer = infer_unary<DTypeClass::floating>,
    .lower = lower_unary<hlo::Opcode::tan>,
    .gradient = tan_gradient,
    .batch = {.rule = batch_elementwise},
};
}  // namespace ops
}  // namespace systole
