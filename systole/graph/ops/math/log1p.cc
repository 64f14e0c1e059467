#include "systole/graph/api/math_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/ops/math/elementwise.h"

namespace systole {
namespace {

std::vector<Output> log1p_gradient(GradientContext& c) { return {c.grad() / (1 + c.input(0))}; }

}  // namespace

Output log1p(const Input& x, const NameOptions& options) {
  return add_op("Log1p", {x}, options.name);
}

namespace ops {
extern const OpDef op_log1p{
    .name = "Log1p",
    .doc = "log(1 + x), exact near 0.",
    .inputs = "x: T",
    .outputs = "y: T",
    .infer = infer_unary<DTypeClass::floating>,
    .lower = lower_unary<hlo::Opcode::log_plus_one>,
    .gradient = log1p_gradient,
    .batch = {.rule = batch_elementwise},
};
}  // namespace ops
}  // namespace systole
