#include "systole/graph/api/math_ops.h"
#include "systole/graph/ops/math/elementwise.h"
#include "systole/graph/ops/math/reduction.h"

namespace systole {
namespace {

std::vector<TensorType> infer_l2_loss(const InferContext& c) {
  return {{infer_unary(c, DTypeClass::floating)[0].dtype, {}}};
}

std::vector<hlo::Value> lower_l2_loss(LowerContext& c) {
  const hlo::Value x = c.b.convert(c.input(0), accumulation_dtype(c.input(0).dtype()));
  const Dims axes = Axes().list(x.shape().rank());
  const hlo::Value sum = lower_reduce(c.b, c.b.multiply(x, x), hlo::Opcode::add, axes);
  return {c.b.convert(c.b.multiply(sum, c.b.splat_like(sum, 0.5)), c.input(0).dtype())};
}

std::vector<Output> l2_loss_gradient(GradientContext& c) { return {c.grad() * c.input(0)}; }

}  // namespace

Output l2_loss(const Input& t, const NameOptions& options) {
  return add_op("L2Loss", {t}, options.name);
}

namespace ops {
extern const OpDef op_l2_loss{
    .name = "L2Loss",
    .doc = "Half the sum of squares.",
    .inputs = "t: T",
    .outputs = "output: T",
    .infer = infer_l2_loss,
    .lower = lower_l2_loss,
    .gradient = l2_loss_gradient,
};
}  // namespace ops
}  // namespace systole
