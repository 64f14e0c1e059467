#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/nn_ops.h"
#include "systole/graph/ops/nn/softmax_common.h"

namespace systole {
namespace {

std::vector<hlo::Value> lower_log_softmax(LowerContext& c) {
  const SoftmaxParts parts = softmax_parts(c.b, c.input(0));
  return {c.b.subtract(parts.shifted, c.b.unary(hlo::Opcode::log, parts.sums))};
}

// g - softmax * sum(g)
std::vector<Output> log_softmax_gradient(GradientContext& c) {
  const Output total = reduce_sum(c.grad(), {.axis = -1, .keepdims = true});
  return {subtract(c.grad(), multiply(exp(c.output()), total))};
}

}  // namespace

Output log_softmax(const Input& logits, const SoftmaxOptions& options) {
  return softmax_op("LogSoftmax", logits, options);
}

namespace ops {
extern const OpDef op_log_softmax{
    .name = "LogSoftmax",
    .doc = "x - log(sum(exp(x))) along the last axis.",
    .inputs = "logits: T",
    .outputs = "logsoftmax: T",
    .infer = infer_softmax,
    .lower = lower_log_softmax,
    .gradient = log_softmax_gradient,
};
}  // namespace ops
}  // namespace systole
