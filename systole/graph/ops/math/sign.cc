#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/ops/math/elementwise.h"

namespace systole {
namespace {

std::vector<Output> sign_gradient(GradientContext& c) { return {zeros_like(c.input(0))}; }

}  // namespace

Output sign(const Input& x, const NameOptions& options) {
  return add_op("Sign", {x}, options.name);
}

namespace ops {
extern const OpDef op_sign{
    .name = "Sign",
    .doc = "-1, 0 or 1 as x is negative, zero or positive.",
    .inputs = "x: T",
    .outputs = "y: T",
    .infer = infer_unary<DTypeClass::signed_number>,
    .lower = lower_unary<hlo::Opcode::sign>,
    .gradient = sign_gradient,
    .batch = {.rule = batch_elementwise},
};
}  // namespace ops
}  // namespace systole
