#include "systole/graph/api/math_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/ops/math/elementwise.h"

namespace systole {
namespace {

std::vector<Output> tanh_gradient(GradientContext& c) {
  return {c.grad() * (1 - square(c.output()))};
}

}  // namespace

Output tanh(const Input& x, const NameOptions& options) {
  return add_op("Tanh", {x}, options.name);
}

namespace ops {
extern const OpDef op_tanh{
    .name = "Tanh",
    .doc = "The hyperbolic tangent of x.",
    .inputs = "x: T",
    .outputs = "y: T",
    .infer = infer_unary<DTypeClass::floating>,
    .lower = lower_unary<hlo::Opcode::tanh>,
    .gradient = tanh_gradient,
    .batch = {.rule = batch_elementwise},
};
}  // namespace ops
}  // namespace systole
