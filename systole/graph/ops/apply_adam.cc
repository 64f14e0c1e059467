#include "systole/graph/training_common.h"
#include "systole/graph/training_ops.h"

namespace systole {
namespace {

enum : int {
  kVar,
  kM,
  kV,
  kBeta1Power,
  kBeta2Power,
  kLearningRate,
  kBeta1,
  kBeta2,
  kEpsilon,
  kGradient
};

std::vector<hlo::Value> lower(LowerContext& c) {
  const UpdateLowering u(c);
  hlo::Builder& b = c.b;
  const hlo::Value gradient = u.tensor(kGradient);
  const hlo::Value m =
      u.move_towards(u.variable(kM), gradient, u.spread(u.complement(u.tensor(kBeta1))));
  const hlo::Value v = u.move_towards(u.variable(kV), b.multiply(gradient, gradient),
                                      u.spread(u.complement(u.tensor(kBeta2))));
  // One scalar corrects the bias of both moments.
  const hlo::Value correction =
      b.divide(b.unary(hlo::Opcode::sqrt, u.complement(u.tensor(kBeta2Power))),
               u.complement(u.tensor(kBeta1Power)));
  const hlo::Value rate = u.spread(b.multiply(u.tensor(kLearningRate), correction));
  const hlo::Value denominator = b.add(b.unary(hlo::Opcode::sqrt, v), u.scalar(kEpsilon));
  u.assign(kM, m);
  u.assign(kV, v);
  u.assign(kVar, b.subtract(u.variable(kVar), b.divide(b.multiply(rate, m), denominator)));
  return {};
}

}  // namespace

Operation apply_adam(const AdamInputs& i) {
  return Graph::current().add_node("ResourceApplyAdam",
                                   {i.var, i.m, i.v, i.beta1_power, i.beta2_power, i.learning_rate,
                                    i.beta1, i.beta2, i.epsilon, i.gradient},
                                   {{"use_nesterov", false}});
}

namespace ops {
extern const OpDef op_apply_adam;
const OpDef op_apply_adam{
    .name = "ResourceApplyAdam",
    .doc = "Adam with bias correction folded into the learning rate.",
    .infer = [](const InferContext& c) { return infer_update(c, /*num_handles=*/3, kGradient); },
    .lower = lower,
    .stateful = true,
};
}  // namespace ops
}  // namespace systole
