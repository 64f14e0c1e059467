#include "systole/graph/api/math_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/ops/math/elementwise.h"

namespace systole {
namespace {

std::vector<Output> log_gradient(GradientContext& c) { return {c.grad() / c.input(0)}; }

}  // namespace

Output log(const Input& x, const NameOptions& options) { return add_op("Log", {x}, options.name); }

namespace ops {
extern const OpDef op_log{
    .name = "Log",
    .doc = "The natural logarithm of x.",
    .inputs = "x: T",
    .outputs = "y: T",
    .infer = infer_unary<DTypeClass::floating>,
    .lower = lower_unary<hlo::Opcode::log>,
    .gradient = log_gradient,
    .batch = {.rule = batch_elementwise},
};
}  // namespace ops
}  // namespace systole
