#include <numbers>

#include "systole/graph/api/math_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/ops/math/elementwise.h"
#include "systole/stablehlo/chlo/chlo.h"

namespace systole {
namespace {

std::vector<hlo::Value> lower_erf(LowerContext& c) {
  return {hlo::chlo::expand(c.b, "erf", {c.input(0)})};
}

std::vector<Output> erf_gradient(GradientContext& c) {
  return {c.grad() * (2 * std::numbers::inv_sqrtpi) * exp(-square(c.input(0)))};
}

}  // namespace

Output erf(const Input& x, const NameOptions& options) { return add_op("Erf", {x}, options.name); }

namespace ops {
extern const OpDef op_erf{
    .name = "Erf",
    .doc = "The error function of x.",
    .inputs = "x: T",
    .outputs = "y: T",
    .infer = infer_unary<DTypeClass::floating>,
    .lower = lower_erf,
    .gradient = erf_gradient,
    .batch = {.rule = batch_elementwise},
};
}  // namespace ops
}  // namespace systole
