#include "systole/graph/api/math_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/ops/math/elementwise.h"

namespace systole {
namespace {

std::vector<hlo::Value> lower_leaky_relu(LowerContext& c) {
  const hlo::Value x = c.input(0);
  const hlo::Value positive = compare_with(c.b, x, hlo::ComparisonDirection::gt, 0);
  return {c.b.select(positive, x, c.b.multiply(x, c.b.splat_like(x, c.attr<double>("alpha"))))};
}

std::vector<Output> leaky_relu_gradient(GradientContext& c) {
  return {where_v2(c.input(0) > 0, c.grad(), c.attr<double>("alpha") * c.grad())};
}

}  // namespace

Output leaky_relu(const Input& features, const LeakyReluOptions& options) {
  return add_op("LeakyRelu", {features}, options.name, {{"alpha", options.alpha}});
}

namespace ops {
extern const OpDef op_leaky_relu{
    .name = "LeakyRelu",
    .doc = "x where it is positive, else alpha * x.",
    .inputs = "features: T",
    .outputs = "activations: T",
    .attrs = "alpha: float = 0.2",
    .infer = infer_unary<DTypeClass::floating>,
    .lower = lower_leaky_relu,
    .gradient = leaky_relu_gradient,
    .batch = {.rule = batch_elementwise},
};
}  // namespace ops
}  // namespace systole
