#include "systole/graph/api/math_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/ops/math/elementwise.h"

namespace systole {
namespace {

// max(x, 0) + log1p(exp(-|x|)) overflows nowhere and keeps small values exact.
std::vector<hlo::Value> lower_softplus(LowerContext& c) {
  const hlo::Value x = c.input(0);
  const hlo::Value distance = c.b.unary(hlo::Opcode::abs, x);
  const hlo::Value tail = c.b.unary(hlo::Opcode::exponential, c.b.negate(distance));
  return {
      c.b.add(c.b.maximum(x, c.b.splat_like(x, 0)), c.b.unary(hlo::Opcode::log_plus_one, tail))};
}

std::vector<Output> softplus_gradient(GradientContext& c) {
  return {c.grad() * sigmoid(c.input(0))};
}

}  // namespace

Output softplus(const Input& features, const NameOptions& options) {
  return add_op("Softplus", {features}, options.name);
}

namespace ops {
extern const OpDef op_softplus{
    .name = "Softplus",
    .doc = "log(1 + exp(x)).",
    .inputs = "features: T",
    .outputs = "activations: T",
    .infer = infer_unary<DTypeClass::floating>,
    .lower = lower_softplus,
    .gradient = softplus_gradient,
    .batch = {.rule = batch_elementwise},
};
}  // namespace ops
}  // namespace systole
