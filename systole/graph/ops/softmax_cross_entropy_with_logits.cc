#include "systole/graph/math_ops.h"
#include "systole/graph/nn_ops.h"
#include "systole/graph/node_builder.h"
#include "systole/graph/softmax_common.h"
#include "systole/graph/where_scope.h"

namespace systole {
namespace {

enum : int { kLogits, kLabels };
enum : int { kLoss, kBackprop };

std::vector<TensorType> infer(const InferContext& c) {
  const TensorType& logits = c.input(kLogits);
  check_logits(logits);
  const TensorType& labels = c.input(kLabels);
  if (labels.dtype != logits.dtype || !labels.shape.compatible_with(logits.shape)) {
    throw invalid_argument("logits and labels, got {} and {}, expected the same size", logits, labels);
  }
  return {{logits.dtype, row_shape(logits.shape)}, logits};
}

// The loss, and the gradient that it has by the logits: softmax - labels (labels sum to 1).
std::vector<hlo::Value> lower(LowerContext& c) {
  hlo::Builder& b = c.b;
  const hlo::Value labels = c.input(kLabels);
  const SoftmaxParts parts = softmax_parts(b, c.input(kLogits));
  const hlo::Value log_probabilities = b.subtract(parts.shifted, b.unary(hlo::Opcode::log, parts.sums));
  // 0 * -inf is 0 here: a class that a label rules out costs nothing.
  const hlo::Value zero = b.splat_like(labels, 0);
  const hlo::Value is_zero = b.compare(labels, zero, hlo::ComparisonDirection::eq);
  const hlo::Value terms = b.select(is_zero, zero, b.multiply(labels, log_probabilities));
  const hlo::Value probabilities = b.divide(parts.exponentials, parts.sums);
  return {b.negate(reduce_rows(b, terms, hlo::Opcode::add)), b.subtract(probabilities, labels)};
}

std::vector<Output> gradient(GradientContext& c) {
  const Output per_row = expand_dims(c.grad(kLoss), -1);
  Output logits_gradient = multiply(per_row, c.output(kBackprop));
  if (c.output_gradients[kBackprop].valid()) {  // second order: through the softmax in `backprop`
    const Output p = softmax(c.input(kLogits));
    const Output g = c.grad(kBackprop);
    const Output projection = reduce_sum(multiply(g, p), {.axis = -1, .keepdims = true});
    logits_gradient = add(logits_gradient, multiply(p, subtract(g, projection)));
  }
  return {logits_gradient, multiply(per_row, negative(log_softmax(c.input(kLogits))))};
}

}  // namespace

Output softmax_cross_entropy_with_logits_v2(const CrossEntropyOptions& options) {
  constexpr std::string_view kOp = "SoftmaxCrossEntropyWithLogits";
  const WhereScope line(options.logits.where());
  const Output logits = resolve(kOp, options.logits);
  const Input rows = axis_to_end(logits, options.axis);
  const Input label_rows = axis_to_end(resolve(kOp, options.labels, logits.dtype()), options.axis);
  return add_op(kOp, {rows, label_rows}, options.name);
}

Output softmax_cross_entropy_with_logits(const CrossEntropyOptions& options) {
  CrossEntropyOptions stopped = options;
  stopped.labels = stop_gradient(options.labels);
  return softmax_cross_entropy_with_logits_v2(stopped);
}

namespace ops {
extern const OpDef op_softmax_cross_entropy_with_logits;
const OpDef op_softmax_cross_entropy_with_logits{
    .name = "SoftmaxCrossEntropyWithLogits",
    .doc = "Cross entropy of softmax(logits) against distributions, a row each, and its gradient.",
    .infer = infer,
    .lower = lower,
    .gradient = gradient,
};
}  // namespace ops
}  // namespace systole
