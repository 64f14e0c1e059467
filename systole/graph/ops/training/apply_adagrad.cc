#include "systole/graph/api/training_ops.h"
#include "systole/graph/ops/training/training_common.h"
#include "systole/graph/ops/training/update_rules.h"

namespace systole {
namespace {

enum : int {
  kApplyAdagradVar,
  kApplyAdagradAccum,
  kApplyAdagradLearningRate,
  kApplyAdagradGradient
};

}  // namespace

std::vector<TensorType> infer_apply_adagrad(const InferContext& c) {
  return infer_update(c, /*num_handles=*/2, kApplyAdagradGradient);
}

std::vector<hlo::Value> lower_apply_adagrad(LowerContext& c) {
  const UpdateLowering u(c, kApplyAdagradGradient);
  const hlo::Value gradient = u.tensor(kApplyAdagradGradient);
  const hlo::Value accum =
      c.b.add(u.variable(kApplyAdagradAccum), c.b.multiply(gradient, gradient));
  const hlo::Value step = c.b.multiply(c.b.multiply(u.scalar(kApplyAdagradLearningRate), gradient),
                                       c.b.unary(hlo::Opcode::rsqrt, accum));
  u.assign(kApplyAdagradAccum, accum);
  u.assign(kApplyAdagradVar, c.b.subtract(u.variable(kApplyAdagradVar), step));
  return {};
}

Operation apply_adagrad(Output var, Output accum, Output learning_rate, Output gradient,
                        const Output& indices) {
  return add_update("ResourceApplyAdagrad", {var, accum, learning_rate, gradient},
                    kApplyAdagradGradient, indices, {{"update_slots", true}});
}

namespace ops {
extern const OpDef op_apply_adagrad;
const OpDef op_apply_adagrad{
    .name = "ResourceApplyAdagrad",
    .doc = "accum += grad^2; var -= lr * grad / sqrt(accum).",
    .inputs = "var: resource, accum: resource, lr: T, grad: T",
    .attrs = "update_slots: bool = true",
    .infer = infer_apply_adagrad,
    .lower = lower_apply_adagrad,
    .stateful = true,
};
}  // namespace ops
}  // namespace systole
