#include "systole/graph/api/math_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/ops/math/elementwise.h"

namespace systole {
namespace {

std::vector<hlo::Value> lower_relu(LowerContext& c) {
  return {c.b.maximum(c.input(0), c.b.splat_like(c.input(0), 0))};
}

std::vector<Output> relu_gradient(GradientContext& c) {
  return {where_v2(c.output() > 0, c.grad(), 0)};
}

}  // namespace

Output relu(const Input& features, const NameOptions& options) {
  return add_op("Relu", {features}, options.name);
}

namespace ops {
extern const OpDef op_relu{
    .name = "Relu",
    .doc = "max(x, 0).",
    .inputs = "features: T",
    .outputs = "activations: T",
    .infer = infer_unary<DTypeClass::number>,
    .lower = lower_relu,
    .gradient = relu_gradient,
    .batch = {.rule = batch_elementwise},
};
}  // namespace ops
}  // namespace systole
