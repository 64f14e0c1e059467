#include "systole/graph/api/math_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/core/constant_value.h"
#include "systole/graph/ops/math/elementwise.h"

namespace systole {
namespace {

std::vector<Output> maximum_gradient(GradientContext& c) {
  const Output first = c.input(0) >= c.input(1);
  return broadcast_gradients(c, where_v2(first, c.grad(), 0), where_v2(first, 0, c.grad()));
}

}  // namespace

Output maximum(const Input& x, const Input& y, const NameOptions& options) {
  return add_op("Maximum", {x, y}, options.name);
}

namespace ops {
extern const OpDef op_maximum{
    .name = "Maximum",
    .doc = "The larger of x and y; NaN when either is.",
    .inputs = "x: T, y: T",
    .outputs = "z: T",
    .infer = infer_binary<DTypeClass::number>,
    .lower = lower_binary<hlo::Opcode::maximum>,
    .gradient = maximum_gradient,
    .constant_rule =
        [](const Output& y) {
          return elementwise_elements(
              y, [](int64_t a, int64_t b) { return KnownElement(std::max(a, b)); });
        },
    .batch = {.rule = batch_elementwise},
};
}  // namespace ops
}  // namespace systole
