#include "systole/graph/training_common.h"
#include "systole/graph/training_ops.h"

namespace systole {
namespace {

enum : int { kVar, kAccum, kLearningRate, kGradient, kMomentum };

std::vector<hlo::Value> lower(LowerContext& c) {
  const UpdateLowering u(c);
  const hlo::Value momentum = u.scalar(kMomentum);
  const hlo::Value gradient = u.tensor(kGradient);
  const hlo::Value accum = c.b.add(c.b.multiply(u.variable(kAccum), momentum), gradient);
  const hlo::Value direction =
      c.attr<bool>("use_nesterov") ? c.b.add(gradient, c.b.multiply(accum, momentum)) : accum;
  u.assign(kAccum, accum);
  u.assign(kVar, c.b.subtract(u.variable(kVar), c.b.multiply(u.scalar(kLearningRate), direction)));
  return {};
}

}  // namespace

Operation apply_momentum(Output var, Output accum, Output learning_rate, Output gradient,
                         Output momentum, bool use_nesterov) {
  return Graph::current().add_node("ResourceApplyMomentum",
                                   {var, accum, learning_rate, gradient, momentum},
                                   {{"use_nesterov", use_nesterov}});
}

namespace ops {
extern const OpDef op_apply_momentum;
const OpDef op_apply_momentum{
    .name = "ResourceApplyMomentum",
    .doc = "accum = momentum * accum + grad; var -= lr * accum, or Nesterov's form.",
    .infer = [](const InferContext& c) { return infer_update(c, /*num_handles=*/2, kGradient); },
    .lower = lower,
    .stateful = true,
};
}  // namespace ops
}  // namespace systole
