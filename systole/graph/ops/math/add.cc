#include "systole/graph/api/math_ops.h"
#include "systole/graph/ops/math/elementwise.h"

namespace systole {
namespace {

std::vector<Output> add_gradient(GradientContext& c) {
  return broadcast_gradients(c, c.grad(), c.grad());
}

}  // namespace

Output add(const Input& x, const Input& y, const NameOptions& options) {
  return add_op("Add", {x, y}, options.name);
}

namespace ops {
extern const OpDef op_add;
const OpDef op_add{
    .name = "Add",
    .doc = "x + y.",
    .infer = infer_binary<DTypeClass::number>,
    .lower = lower_binary<hlo::Opcode::add>,
    .gradient = add_gradient,
};
}  // namespace ops
}  // namespace systole
