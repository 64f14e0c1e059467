#include "systole/graph/api/math_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/ops/math/elementwise.h"

namespace systole {
namespace {

std::vector<hlo::Value> lower_elu(LowerContext& c) {
  const hlo::Value x = c.input(0);
  const hlo::Value positive = compare_with(c.b, x, hlo::ComparisonDirection::gt, 0);
  return {c.b.select(positive, x, c.b.unary(hlo::Opcode::exponential_minus_one, x))};
}

std::vector<Output> elu_gradient(GradientContext& c) {
  return {where_v2(c.output() > 0, c.grad(), c.grad() * (c.output() + 1))};
}

}  // namespace

Output elu(const Input& features, const NameOptions& options) {
  return add_op("Elu", {features}, options.name);
}

namespace ops {
extern const OpDef op_elu{
    .name = "Elu",
    .doc = "x where it is positive, else exp(x) - 1.",
    .inputs = "features: T",
    .outputs = "activations: T",
    .infer = infer_unary<DTypeClass::floating>,
    .lower = lower_elu,
    .gradient = elu_gradient,
    .batch = {.rule = batch_elementwise},
};
}  // namespace ops
}  // namespace systole
