#include "systole/graph/api/training_ops.h"
#include "systole/graph/ops/training/training_common.h"
#include "systole/graph/ops/training/update_rules.h"

namespace systole {
namespace {

enum : int {
  kApplyAdadeltaVar,
  kApplyAdadeltaAccum,
  kApplyAdadeltaAccumUpdate,
  kApplyAdadeltaLearningRate,
  kApplyAdadeltaRho,
  kApplyAdadeltaEpsilon,
  kApplyAdadeltaGradient
};

}  // namespace

std::vector<TensorType> infer_apply_adadelta(const InferContext& c) {
  return infer_update(c, /*num_handles=*/3, kApplyAdadeltaGradient);
}

std::vector<hlo::Value> lower_apply_adadelta(LowerContext& c) {
  const UpdateLowering u(c, kApplyAdadeltaGradient);
  hlo::Builder& b = c.b;
  const hlo::Value gradient = u.tensor(kApplyAdadeltaGradient);
  const hlo::Value forgotten = u.complement(u.scalar(kApplyAdadeltaRho));
  const hlo::Value epsilon = u.scalar(kApplyAdadeltaEpsilon);
  const hlo::Value accum =
      u.move_towards(u.variable(kApplyAdadeltaAccum), b.multiply(gradient, gradient), forgotten);
  const hlo::Value updates = u.variable(kApplyAdadeltaAccumUpdate);
  const hlo::Value update =
      b.multiply(b.multiply(b.unary(hlo::Opcode::sqrt, b.add(updates, epsilon)),
                            b.unary(hlo::Opcode::rsqrt, b.add(accum, epsilon))),
                 gradient);
  const hlo::Value step = b.multiply(u.scalar(kApplyAdadeltaLearningRate), update);
  u.assign(kApplyAdadeltaAccum, accum);
  u.assign(kApplyAdadeltaAccumUpdate,
           u.move_towards(updates, b.multiply(update, update), forgotten));
  u.assign(kApplyAdadeltaVar, b.subtract(u.variable(kApplyAdadeltaVar), step));
  return {};
}

Operation apply_adadelta(const AdadeltaInputs& i) {
  return add_update("ResourceApplyAdadelta",
                    {i.var, i.accum, i.accum_update, i.learning_rate, i.rho, i.epsilon, i.gradient},
                    kApplyAdadeltaGradient, i.indices);
}

namespace ops {
extern const OpDef op_apply_adadelta;
const OpDef op_apply_adadelta{
    .name = "ResourceApplyAdadelta",
    .doc = "Steps as long as the earlier ones, by the mean squares of both.",
    .inputs =
        "var: resource, accum: resource, accum_update: resource, lr: T, rho: T, epsilon: T, "
        "grad: T",
    .infer = infer_apply_adadelta,
    .lower = lower_apply_adadelta,
    .stateful = true,
};
}  // namespace ops
}  // namespace systole
