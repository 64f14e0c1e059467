#include "systole/graph/api/math_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/ops/math/elementwise.h"

namespace systole {
namespace {

std::vector<hlo::Value> lower_squared_difference(LowerContext& c) {
  const auto [x, y] = broadcast_operands(c);
  const hlo::Value difference = c.b.subtract(x, y);
  return {c.b.multiply(difference, difference)};
}

std::vector<Output> squared_difference_gradient(GradientContext& c) {
  const Output for_x = c.grad() * (2 * (c.input(0) - c.input(1)));
  return broadcast_gradients(c, for_x, -for_x);
}

}  // namespace

Output squared_difference(const Input& x, const Input& y, const NameOptions& options) {
  return add_op("SquaredDifference", {x, y}, options.name);
}

namespace ops {
extern const OpDef op_squared_difference{
    .name = "SquaredDifference",
    .doc = "(x - y) squared.",
    .inputs = "x: T, y: T",
    .outputs = "z: T",
    .infer = infer_binary<DTypeClass::number>,
    .lower = lower_squared_difference,
    .gradient = squared_difference_gradient,
    .batch = {.rule = batch_elementwise},
};
}  // namespace ops
}  // namespace systole
