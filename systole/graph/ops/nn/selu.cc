#include "systole/graph/api/math_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/ops/math/elementwise.h"

namespace systole {
namespace {

constexpr double kScale = 1.0507009873554804934193349852946;
constexpr double kAlpha = 1.6732632423543772848170429916717;

std::vector<hlo::Value> lower_selu(LowerContext& c) {
  const hlo::Value x = c.input(0);
  const hlo::Value positive = compare_with(c.b, x, hlo::ComparisonDirection::gt, 0);
  const hlo::Value negative = c.b.unary(hlo::Opcode::exponential_minus_one, x);
  return {c.b.select(positive, c.b.multiply(x, c.b.splat_like(x, kScale)),
                     c.b.multiply(negative, c.b.splat_like(x, kScale * kAlpha)))};
}

std::vector<Output> selu_gradient(GradientContext& c) {
  return {where_v2(c.output() > 0, kScale * c.grad(), c.grad() * (c.output() + kScale * kAlpha))};
}

}  // namespace

Output selu(const Input& features, const NameOptions& options) {
  return add_op("Selu", {features}, options.name);
}

namespace ops {
extern const OpDef op_selu{
    .name = "Selu",
    .doc = "scale * (x where it is positive, else alpha * (exp(x) - 1)).",
    .inputs = "features: T",
    .outputs = "activations: T",
    .infer = infer_unary<DTypeClass::floating>,
    .lower = lower_selu,
    .gradient = selu_gradient,
    .batch = {.rule = batch_elementwise},
};
}  // namespace ops
}  // namespace systole
