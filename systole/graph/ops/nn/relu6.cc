#include "systole/graph/api/math_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/ops/math/elementwise.h"

namespace systole {
namespace {

std::vector<hlo::Value> lower_relu6(LowerContext& c) {
  const hlo::Value x = c.input(0);
  const hlo::Value low = c.b.scalar(x.dtype(), 0);
  const hlo::Value high = c.b.scalar(x.dtype(), 6);
  return {c.b.op(hlo::Opcode::clamp, {low, x, high})->result()};
}

std::vector<Output> relu6_gradient(GradientContext& c) {
  const Output inside = logical_and(c.output() > 0, c.output() < 6);
  return {where_v2(inside, c.grad(), 0)};
}

}  // namespace

Output relu6(const Input& features, const NameOptions& options) {
  return add_op("Relu6", {features}, options.name);
}

namespace ops {
extern const OpDef op_relu6{
    .name = "Relu6",
    .doc = "min(max(x, 0), 6).",
    .inputs = "features: T",
    .outputs = "activations: T",
    .infer = infer_unary<DTypeClass::number>,
    .lower = lower_relu6,
    .gradient = relu6_gradient,
    .batch = {.rule = batch_elementwise},
};
}  // namespace ops
}  // namespace systole
