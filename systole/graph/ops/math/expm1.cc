#include "systole/graph/api/math_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/ops/math/elementwise.h"

namespace systole {
namespace {

std::vector<Output> expm1_gradient(GradientContext& c) { return {c.grad() * exp(c.input(0))}; }

}  // namespace

Output expm1(const Input& x, const NameOptions& options) {
  return add_op("Expm1", {x}, options.name);
}

namespace ops {
extern const OpDef op_expm1{
    .name = "Expm1",
    .doc = "exp(x) - 1, exact near 0.",
    .inputs = "x: T",
    .outputs = "y: T",
    .infer = infer_unary<DTypeClass::floating>,
    .lower = lower_unary<hlo::Opcode::exponential_minus_one>,
    .gradient = expm1_gradient,
    .batch = {.rule = batch_elementwise},
};
}  // namespace ops
}  // namespace systole
