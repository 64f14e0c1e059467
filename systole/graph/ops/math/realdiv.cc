#include "systole/graph/api/math_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/ops/math/elementwise.h"

namespace systole {
namespace {

std::vector<Output> realdiv_gradient(GradientContext& c) {
  const Output x = c.input(0);
  const Output y = c.input(1);
  return broadcast_gradients(c, c.grad() / y, c.grad() * (-x / y / y));
}

}  // namespace

Output realdiv(const Input& x, const Input& y, const NameOptions& options) {
  return add_op("RealDiv", {x, y}, options.name);
}

namespace ops {
extern const OpDef op_realdiv{
    .name = "RealDiv",
    .doc = "x / y.",
    .inputs = "x: T, y: T",
    .outputs = "z: T",
    .infer = infer_binary<DTypeClass::floating>,
    .lower = lower_binary<hlo::Opcode::divide>,
    .gradient = realdiv_gradient,
    .batch = {.rule = batch_elementwise},
};
}  // namespace ops
}  // namespace systole
