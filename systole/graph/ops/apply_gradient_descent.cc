#include "systole/graph/training_common.h"
#include "systole/graph/training_ops.h"

namespace systole {
namespace {

enum : int { kVar, kLearningRate, kGradient };

std::vector<hlo::Value> lower(LowerContext& c) {
  const UpdateLowering u(c);
  u.assign(kVar, c.b.subtract(u.variable(kVar),
                              c.b.multiply(u.scalar(kLearningRate), u.tensor(kGradient))));
  return {};
}

}  // namespace

Operation apply_gradient_descent(Output var, Output learning_rate, Output gradient) {
  return Graph::current().add_node("ResourceApplyGradientDescent", {var, learning_rate, gradient});
}

namespace ops {
extern const OpDef op_apply_gradient_descent;
const OpDef op_apply_gradient_descent{
    .name = "ResourceApplyGradientDescent",
    .doc = "var -= alpha * delta.",
    .infer = [](const InferContext& c) { return infer_update(c, /*num_handles=*/1, kGradient); },
    .lower = lower,
    .stateful = true,
};
}  // namespace ops
}  // namespace systole
