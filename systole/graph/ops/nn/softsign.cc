#include "systole/graph/api/math_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/ops/math/elementwise.h"

namespace systole {
namespace {

std::vector<hlo::Value> lower_softsign(LowerContext& c) {
  const hlo::Value x = c.input(0);
  const hlo::Value size = c.b.unary(hlo::Opcode::abs, x);
  return {c.b.divide(x, c.b.add(size, c.b.splat_like(x, 1)))};
}

std::vector<Output> softsign_gradient(GradientContext& c) {
  return {c.grad() / square(1 + abs(c.input(0)))};
}

}  // namespace

Output softsign(const Input& features, const NameOptions& options) {
  return add_op("Softsign", {features}, options.name);
}

namespace ops {
extern const OpDef op_softsign{
    .name = "Softsign",
    .doc = "x / (1 + |x|).",
    .inputs = "features: T",
    .outputs = "activations: T",
    .infer = infer_unary<DTypeClass::floating>,
    .lower = lower_softsign,
    .gradient = softsign_gradient,
    .batch = {.rule = batch_elementwise},
};
}  // namespace ops
}  // namespace systole
