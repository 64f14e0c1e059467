#include "systole/graph/api/math_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/ops/math/elementwise.h"

namespace systole {
namespace {

std::vector<Output> cos_gradient(GradientContext& c) { return {-c.grad() * sin(c.input(0))}; }

}  // namespace

Output cos(const Input& x, const NameOptions& options) { return add_op("Cos", {x}, options.name); }

namespace ops {
extern const OpDef op_cos{
    .name = "Cos",
    .doc = "The cosine of x radians.",
    .inputs = "x: T",
    .outputs = "y: T",
    .infer = infer_unary<DTypeClass::floating>,
    .lower = lower_unary<hlo::Opcode::cosine>,
    .gradient = cos_gradient,
    .batch = {.rule = batch_elementwise},
};
}  // namespace ops
}  // namespace systole
