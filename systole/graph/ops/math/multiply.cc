#include "systole/graph/api/math_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/core/constant_value.h"
#include "systole/graph/ops/math/elementwise.h"

namespace systole {
namespace {

std::vector<Output> multiply_gradient(GradientContext& c) {
  return broadcast_gradients(c, c.grad() * c.input(1), c.grad() * c.input(0));
}

}  // namespace

Output multiply(const Input& x, const Input& y, const NameOptions& options) {
  return add_op("Mul", {x, y}, options.name);
}

namespace ops {
extern const OpDef op_multiply{
    .name = "Mul",
    .doc = "x * y.",
    .inputs = "x: T, y: T",
    .outputs = "z: T",
    .infer = infer_binary<DTypeClass::number>,
    .lower = lower_binary<hlo::Opcode::multiply>,
    .gradient = multiply_gradient,
    .constant_rule =
        [](const Output& y) {
          return elementwise_elements(y, [](int64_t a, int64_t b) { return KnownElement(a * b); });
        },
    .batch = {.rule = batch_elementwise},
};
}  // namespace ops
}  // namespace systole
