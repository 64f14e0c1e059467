#include "systole/graph/training_common.h"
#include "systole/graph/training_ops.h"

namespace systole {
namespace {

enum : int {
  kVar,
  kMeanSquare,
  kMomentumSlot,
  kLearningRate,
  kRho,
  kMomentum,
  kEpsilon,
  kGradient
};

std::vector<hlo::Value> lower(LowerContext& c) {
  const UpdateLowering u(c);
  hlo::Builder& b = c.b;
  const hlo::Value gradient = u.tensor(kGradient);
  const hlo::Value forget = u.spread(u.complement(u.tensor(kRho)));
  const hlo::Value mean_square =
      u.move_towards(u.variable(kMeanSquare), b.multiply(gradient, gradient), forget);
  const hlo::Value scale = b.unary(hlo::Opcode::rsqrt, b.add(mean_square, u.scalar(kEpsilon)));
  const hlo::Value step = b.multiply(b.multiply(u.scalar(kLearningRate), gradient), scale);
  const hlo::Value momentum =
      b.add(b.multiply(u.scalar(kMomentum), u.variable(kMomentumSlot)), step);
  u.assign(kMeanSquare, mean_square);
  u.assign(kMomentumSlot, momentum);
  u.assign(kVar, b.subtract(u.variable(kVar), momentum));
  return {};
}

}  // namespace

Operation apply_rms_prop(const RMSPropInputs& i) {
  return Graph::current().add_node("ResourceApplyRMSProp",
                                   {i.var, i.mean_square, i.momentum_slot, i.learning_rate, i.rho,
                                    i.momentum, i.epsilon, i.gradient});
}

namespace ops {
extern const OpDef op_apply_rms_prop;
const OpDef op_apply_rms_prop{
    .name = "ResourceApplyRMSProp",
    .doc = "RMSProp with momentum.",
    .infer = [](const InferContext& c) { return infer_update(c, /*num_handles=*/3, kGradient); },
    .lower = lower,
    .stateful = true,
};
}  // namespace ops
}  // namespace systole
