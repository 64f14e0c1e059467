#include "systole/graph/api/math_ops.h"
#include "systole/graph/ops/math/elementwise.h"

namespace systole {
namespace {

std::vector<Output> subtract_gradient(GradientContext& c) {
  return broadcast_gradients(c, c.grad(), -c.grad());
}

}  // namespace

Output subtract(const Input& x, const Input& y, const NameOptions& options) {
  return add_op("Sub", {x, y}, options.name);
}

namespace ops {
extern const OpDef op_subtract;
const OpDef op_subtract{
    .name = "Sub",
    .doc = "x - y.",
    .infer = infer_binary<DTypeClass::number>,
    .lower = lower_binary<hlo::Opcode::subtract>,
    .gradient = subtract_gradient,
};
}  // namespace ops
}  // namespace systole
