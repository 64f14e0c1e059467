#include "systole/graph/api/math_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/ops/math/elementwise.h"

namespace systole {
namespace {

std::vector<Output> abs_gradient(GradientContext& c) { return {c.grad() * sign(c.input(0))}; }

}  // namespace

Output abs(const Input& x, const NameOptions& options) { return add_op("Abs", {x}, options.name); }

namespace ops {
extern const OpDef op_abs{
    .name = "Abs",
    .doc = "The absolute value of x.",
    .inputs = "x: T",
    .outputs = "y: T",
    .infer = infer_unary<DTypeClass::signed_number>,
    .lower = lower_unary<hlo::Opcode::abs>,
    .gradient = abs_gradient,
    .batch = {.rule = batch_elementwise},
};
}  // namespace ops
}  // namespace systole
