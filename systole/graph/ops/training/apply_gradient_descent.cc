#include "systole/graph/api/training_ops.h"
#include "systole/graph/ops/training/training_common.h"

namespace systole {
namespace {

enum : int {
  kApplyGradientDescentVar,
  kApplyGradientDescentLearningRate,
  kApplyGradientDescentGradient
};

std::vector<hlo::Value> lower_apply_gradient_descent(LowerContext& c) {
  const UpdateLowering u(c, kApplyGradientDescentGradient);
  u.assign(kApplyGradientDescentVar,
           c.b.subtract(u.variable(kApplyGradientDescentVar),
                        c.b.multiply(u.scalar(kApplyGradientDescentLearningRate),
                                     u.tensor(kApplyGradientDescentGradient))));
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
    .inputs = "var: resource, alpha: T, delta: T",
    .infer =
        [](const InferContext& c) {
          return infer_update(c, /*num_handles=*/1, kApplyGradientDescentGradient);
        },
    .lower = lower_apply_gradient_descent,
    .stateful = true,
};
}  // namespace ops
}  // namespace systole
