#include "systole/graph/api/training_ops.h"
#include "systole/graph/ops/training/training_common.h"

namespace systole {
namespace {

enum : int {
  kApplyAdamVar,
  kApplyAdamM,
  kApplyAdamV,
  kApplyAdamBeta1Power,
  kApplyAdamBeta2Power,
  kApplyAdamLearningRate,
  kApplyAdamBeta1,
  kApplyAdamBeta2,
  kApplyAdamEpsilon,
  kApplyAdamGradient
};

std::vector<hlo::Value> lower_apply_adam(LowerContext& c) {
  const UpdateLowering u(c, kApplyAdamGradient);
  hlo::Builder& b = c.b;
  const hlo::Value gradient = u.tensor(kApplyAdamGradient);
  const hlo::Value m = u.move_towards(u.variable(kApplyAdamM), gradient,
                                      u.spread(u.complement(u.tensor(kApplyAdamBeta1))));
  const hlo::Value v = u.move_towards(u.variable(kApplyAdamV), b.multiply(gradient, gradient),
                                      u.spread(u.complement(u.tensor(kApplyAdamBeta2))));
  // One scalar corrects the bias of both moments.
  const hlo::Value correction =
      b.divide(b.unary(hlo::Opcode::sqrt, u.complement(u.tensor(kApplyAdamBeta2Power))),
               u.complement(u.tensor(kApplyAdamBeta1Power)));
  const hlo::Value rate = u.spread(b.multiply(u.tensor(kApplyAdamLearningRate), correction));
  const hlo::Value denominator = b.add(b.unary(hlo::Opcode::sqrt, v), u.scalar(kApplyAdamEpsilon));
  u.assign(kApplyAdamM, m);
  u.assign(kApplyAdamV, v);
  u.assign(kApplyAdamVar,
           b.subtract(u.variable(kApplyAdamVar), b.divide(b.multiply(rate, m), denominator)));
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
    .inputs =
        "var: resource, m: resource, v: resource, beta1_power: T, beta2_power: T, lr: T, "
        "beta1: T, beta2: T, epsilon: T, grad: T",
    .attrs = "use_nesterov: bool = false",
    .infer =
        [](const InferContext& c) {
          return infer_update(c, /*num_handles=*/3, kApplyAdamGradient);
        },
    .lower = lower_apply_adam,
    .stateful = true,
};
}  // namespace ops
}  // namespace systole
