#include "systole/graph/api/math_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/ops/math/elementwise.h"

namespace systole {
namespace {

std::vector<Output> sigmoid_gradient(GradientContext& c) {
  return {c.grad() * c.output() * (1 - c.output())};
}

}  // namespace

Output sigmoid(const Input& x, const NameOptions& options) {
  return add_op("Sigmoid", {x}, options.name);
}

namespace ops {
extern const OpDef op_sigmoid{
    .name = "Sigmoid",
    .doc = "1 / (1 + exp(-x)).",
    .inputs = "x: T",
    .outputs = "y: T",
    .infer = infer_unary<DTypeClass::floating>,
    .lower = lower_unary<hlo::Opcode::logistic>,
    .gradient = sigmoid_gradient,
    .batch = {.rule = batch_elementwise},
};
}  // namespace ops
}  // namespace systole
