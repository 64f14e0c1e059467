#include "systole/graph/api/math_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/ops/math/elementwise.h"

namespace systole {
namespace {

std::vector<Output> exp_gradient(GradientContext& c) { return {c.grad() * c.output()}; }

}  // namespace

Output exp(const Input& x, const NameOptions& options) { return add_op("Exp", {x}, options.name); }

namespace ops {
extern const OpDef op_exp{
    .name = "Exp",
    .doc = "e to the power of x.",
    .inputs = "x: T",
    .outputs = "y: T",
    .infer = infer_unary<DTypeClass::floating>,
    .lower = lower_unary<hlo::Opcode::exponential>,
    .gradient = exp_gradient,
    .batch = {.rule = batch_elementwise},
};
}  // namespace ops
}  // namespace systole
