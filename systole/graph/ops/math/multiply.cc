#include "systole/graph/api/math_ops.h"
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
extern const OpDef op_multiply;
const OpDef op_multiply{
    .name = "Mul",
    .doc = "x * y.",
    .infer = infer_binary<DTypeClass::number>,
    .lower = lower_binary<hlo::Opcode::multiply>,
    .gradient = multiply_gradient,
};
}  // namespace ops
}  // namespace systole
