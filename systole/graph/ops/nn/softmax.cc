#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/nn_ops.h"
#include "systole/graph/ops/nn/softmax_common.h"

namespace systole {
namespace {

std::vector<hlo::Value> lower_softmax(LowerContext& c) {
  const SoftmaxParts parts = softmax_parts(c.b, c.input(0));
  return {c.b.divide(parts.exponentials, parts.sums)};
}

// y * (g - sum(g * y))
std::vector<Output> softmax_gradient(GradientContext& c) {
  const Output y = c.output();
  const Output projection = reduce_sum(multiply(c.grad(), y), {.axis = -1, .keepdims = true});
  return {multiply(y, subtract(c.grad(), projection))};
}

}  // namespace

Output softmax(const Input& logits, const SoftmaxOptions& options) {
  return softmax_op("Softmax", logits, options);
}

namespace ops {
extern const OpDef op_softmax{
    .name = "Softmax",
    .doc = "exp(x) / sum(exp(x)) along the last axis.",
    .inputs = "logits: T",
    .outputs = "softmax: T",
    .infer = infer_softmax,
    .lower = lower_softmax,
    .gradient = softmax_gradient,
};
}  // namespace ops
}  // namespace systole
