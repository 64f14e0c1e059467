#include "systole/graph/api/math_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/ops/math/elementwise.h"

namespace systole {
namespace {

std::vector<Output> rsqrt_gradient(GradientContext& c) {
  return {-0.5 * c.grad() * c.output() * square(c.output())};
}

}  // namespace

Output rsqrt(const Input& x, const NameOptions& options) {
  return add_op("Rsqrt", {x}, options.name);
}

namespace ops {
extern const OpDef op_rsqrt{
    .name = "Rsqrt",
    .doc = "1 / sqrt(x).",
    .inputs = "x: T",
    .outputs = "y: T",
    .infer = infer_unary<DTypeClass::floating>,
    .lower = lower_unary<hlo::Opcode::rsqrt>,
    .gradient = rsqrt_gradient,
    .batch = {.rule = batch_elementwise},
};
}  // namespace ops
}  // namespace systole
