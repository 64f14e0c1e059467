#include "systole/graph/api/training_ops.h"
#include "systole/graph/ops/math/elementwise.h"
#include "systole/graph/ops/training/training_common.h"
#include "systole/graph/ops/training/update_rules.h"

namespace systole {
namespace {

enum : int {
  kApplyFtrlVar,
  kApplyFtrlAccum,
  kApplyFtrlLinear,
  kApplyFtrlGradient,
  kApplyFtrlLearningRate,
  kApplyFtrlL1,
  kApplyFtrlL2,
  kApplyFtrlPower
};

}  // namespace

std::vector<TensorType> infer_apply_ftrl(const InferContext& c) {
  return infer_update(c, /*num_handles=*/3, kApplyFtrlGradient);
}

std::vector<hlo::Value> lower_apply_ftrl(LowerContext& c) {
  const UpdateLowering u(c, kApplyFtrlGradient);
  hlo::Builder& b = c.b;
  const hlo::Value gradient = u.tensor(kApplyFtrlGradient);
  const hlo::Value var = u.variable(kApplyFtrlVar);
  const hlo::Value before = u.variable(kApplyFtrlAccum);
  const hlo::Value rate = u.scalar(kApplyFtrlLearningRate);
  const hlo::Value l1 = u.scalar(kApplyFtrlL1);
  const hlo::Value exponent = b.unary(hlo::Opcode::negate, u.scalar(kApplyFtrlPower));
  const auto power = [&](hlo::Value x) { return b.binary(hlo::Opcode::power, x, exponent); };
  const hlo::Value accum = b.add(before, b.multiply(gradient, gradient));
  const hlo::Value strength = power(accum);
  const hlo::Value sigma = b.divide(b.subtract(strength, power(before)), rate);
  const hlo::Value linear =
      b.add(u.variable(kApplyFtrlLinear), b.subtract(gradient, b.multiply(sigma, var)));
  const hlo::Value l2 = u.scalar(kApplyFtrlL2);
  const hlo::Value curvature = b.add(b.divide(strength, rate), b.add(l2, l2));
  // What is left of `linear` beyond l1 on either side of 0.
  const hlo::Value within =
      b.op(hlo::Opcode::clamp, {b.unary(hlo::Opcode::negate, l1), linear, l1})->result();
  const hlo::Value beyond = b.subtract(within, linear);
  // Nothing is 0, also of a curvature of 0: where there was no gradient yet.
  const hlo::Value zero = b.splat_like(beyond, 0);
  const hlo::Value none = b.compare(beyond, zero, hlo::ComparisonDirection::eq);
  u.assign(kApplyFtrlVar, b.select(none, zero, b.divide(beyond, curvature)));
  u.assign(kApplyFtrlAccum, accum);
  u.assign(kApplyFtrlLinear, linear);
  return {};
}

Operation apply_ftrl(const FtrlInputs& i) {
  return add_update(
      "ResourceApplyFtrl",
      {i.var, i.accum, i.linear, i.gradient, i.learning_rate, i.l1, i.l2, i.learning_rate_power},
      kApplyFtrlGradient, i.indices);
}

namespace ops {
extern const OpDef op_apply_ftrl;
const OpDef op_apply_ftrl{
    .name = "ResourceApplyFtrl",
    .doc = "Follows the regularised leader, near the last step.",
    .inputs =
        "var: resource, accum: resource, linear: resource, grad: T, lr: T, l1: T, l2: T, "
        "lr_power: T",
    .infer = infer_apply_ftrl,
    .lower = lower_apply_ftrl,
    .stateful = true,
};
}  // namespace ops
}  // namespace systole
