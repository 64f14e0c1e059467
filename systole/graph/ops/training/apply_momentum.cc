#include "systole/graph/api/training_ops.h"
#include "systole/graph/ops/training/training_common.h"
#include "systole/graph/ops/training/update_rules.h"

namespace systole {
namespace {

enum : int {
  kApplyMomentumVar,
  kApplyMomentumAccum,
  kApplyMomentumLearningRate,
  kApplyMomentumGradient,
  kApplyMomentumMomentum
};

}  // namespace

std::vector<TensorType> infer_apply_momentum(const InferContext& c) {
  return infer_update(c, /*num_handles=*/2, kApplyMomentumGradient);
}

std::vector<hlo::Value> lower_apply_momentum(LowerContext& c) {
  const UpdateLowering u(c, kApplyMomentumGradient);
  const hlo::Value momentum = u.scalar(kApplyMomentumMomentum);
  const hlo::Value gradient = u.tensor(kApplyMomentumGradient);
  const hlo::Value accum =
      c.b.add(c.b.multiply(u.variable(kApplyMomentumAccum), momentum), gradient);
  const hlo::Value direction =
      c.attr<bool>("use_nesterov") ? c.b.add(gradient, c.b.multiply(accum, momentum)) : accum;
  u.assign(kApplyMomentumAccum, accum);
  u.assign(kApplyMomentumVar,
           c.b.subtract(u.variable(kApplyMomentumVar),
                        c.b.multiply(u.scalar(kApplyMomentumLearningRate), direction)));
  return {};
}

Operation apply_momentum(Output var, Output accum, Output learning_rate, Output gradient,
                         Output momentum, bool use_nesterov, const Output& indices) {
  return add_update("ResourceApplyMomentum", {var, accum, learning_rate, gradient, momentum},
                    kApplyMomentumGradient, indices, {{"use_nesterov", use_nesterov}});
}

namespace ops {
extern const OpDef op_apply_momentum;
const OpDef op_apply_momentum{
    .name = "ResourceApplyMomentum",
    .doc = "accum = momentum * accum + grad; var -= lr * accum, or Nesterov's form.",
    .inputs = "var: resource, accum: resource, lr: T, grad: T, momentum: T",
    .attrs = "use_nesterov: bool = false",
    .infer = infer_apply_momentum,
    .lower = lower_apply_momentum,
    .stateful = true,
};
}  // namespace ops
}  // namespace systole
