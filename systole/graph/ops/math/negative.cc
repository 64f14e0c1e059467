#include "systole/graph/api/math_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/ops/math/elementwise.h"

namespace systole {
namespace {

std::vector<Output> negative_gradient(GradientContext& c) { return {-c.grad()}; }

}  // namespace

Output negative(const Input& x, const NameOptions& options) {
  return add_op("Neg", {x}, options.name);
}

namespace ops {
extern const OpDef op_negative{
    .name = "Neg",
    .doc = "-x.",
    .inputs = "x: T",
    .outputs = "y: T",
    .infer = infer_unary<DTypeClass::signed_number>,
    .lower = lower_unary<hlo::Opcode::negate>,
    .gradient = negative_gradient,
    .batch = {.rule = batch_elementwise},
};
}  // namespace ops
}  // namespace systole
