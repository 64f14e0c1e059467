#include "systole/graph/api/math_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/ops/math/elementwise.h"

namespace systole {
namespace {

std::vector<Output> sin_gradient(GradientContext& c) { return {c.grad() * cos(c.input(0))}; }

}  // namespace

Output sin(const Input& x, const NameOptions& options) { return add_op("Sin", {x}, options.name); }

namespace ops {
extern const OpDef op_sin{
    .name = "Sin",
    .doc = "The sine of x radians.",
    .inputs = "x: T",
    .outputs = "y: T",
    .infer = infer_unary<DTypeClass::floating>,
    .lower = lower_unary<hlo::Opcode::sine>,
    .gradient = sin_gradient,
    .batch = {.rule = batch_elementwise},
};
}  // namespace ops
}  // namespace systole
