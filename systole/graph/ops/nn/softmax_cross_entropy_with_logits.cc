#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/nn_ops.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/core/op_error.h"
#include "systole/graph/core/where_scope.h"
#include "systole/graph/ops/nn/softmax_common.h"

namespace systole {
namespace {

enum : int { kSoftmaxCrossEntropyWithLogitsLogits, kSoftmaxCrossEntropyWithLogitsLabels };
enum : int { kSoftmaxCrossEntropyWithLogitsLoss, kSoftmaxCrossEntropyWithLogitsBackprop };

std::vector<TensorType> infer_softmax_cross_entropy_with_logits(const InferContext& c) {
  const TensorType& logits = c.input(kSoftmaxCrossEntropyWithLogitsLogits);
  check_logits(logits);
  const TensorType& labels = c.input(kSoftmaxCrossEntropyWithLogitsLabels);
  if (labels.dtype != logits.dtype || !labels.shape.compatible_with(logits.shape)) {
    throw invalid_argument("logits and labels, got {} and {}, expected the same size", logits,
                           labels);
  }
  return {{logits.dtype, row_shape(logits.shape)}, logits};
}

// The loss, and the gradient that it has by the logits: softmax - labels (labels sum to 1).
std::vector<hlo::Value> lower_softmax_cross_entropy_with_logits(LowerContext& c) {
  hlo::Builder& b = c.b;
  const hlo::Value labels = c.input(kSoftmaxCrossEntropyWithLogitsLabels);
  const SoftmaxParts parts = softmax_parts(b, c.input(kSoftmaxCrossEntropyWithLogitsLogits));
  const hlo::Value log_probabilities =
      b.subtract(parts.shifted, b.unary(hlo::Opcode::log, parts.sums));
  // 0 * -inf is 0 here: a class that a label rules out costs nothing.
  const hlo::Value zero = b.splat_like(labels, 0);
  const hlo::Value is_zero = b.compare(labels, zero, hlo::ComparisonDirection::eq);
  const hlo::Value terms = b.select(is_zero, zero, b.multiply(labels, log_probabilities));
  const hlo::Value probabilities = b.divide(parts.exponentials, parts.sums);
  return {b.negate(reduce_rows(b, terms, hlo::Opcode::add)), b.subtract(probabilities, labels)};
}

std::vector<Output> softmax_cross_entropy_with_logits_gradient(GradientContext& c) {
  Output labels_gradient =
      multiply(expand_dims(c.grad(kSoftmaxCrossEntropyWithLogitsLoss), -1),
               negative(log_softmax(c.input(kSoftmaxCrossEntropyWithLogitsLogits))));
  const Output g = c.output_gradients[kSoftmaxCrossEntropyWithLogitsBackprop];
  if (g.valid()) labels_gradient = subtract(labels_gradient, g);
  return {cross_entropy_gradient(c), labels_gradient};
}

}  // namespace

Output softmax_cross_entropy_with_logits_v2(const CrossEntropyOptions& options) {
  constexpr std::string_view kOp = "SoftmaxCrossEntropyWithLogits";
  const CompositionScope scope(options.logits, options.name, "softmax_cross_entropy_with_logits");
  const auto rows = [&](const Input& x, DType like) -> Input {
    const Output value = resolve(kOp, x, like);
    return with_op(kOp, x.where(), [&] { return axis_to_end(value, options.axis); });
  };
  const DType dtype = common_dtype({options.logits, options.labels});
  const Input logits = rows(options.logits, dtype);
  const Input labels = rows(options.labels, dtype);
  return add_op(kOp, {logits, labels}, scope.result().name);
}

Output softmax_cross_entropy_with_logits(const CrossEntropyOptions& options) {
  const WhereScope line(options.logits.where());
  CrossEntropyOptions stopped = options;
  stopped.labels = stop_gradient(options.labels);
  return softmax_cross_entropy_with_logits_v2(stopped);
}

namespace ops {
extern const OpDef op_softmax_cross_entropy_with_logits{
    .name = "SoftmaxCrossEntropyWithLogits",
    .doc = "Cross entropy of softmax(logits) against distributions, a row each, and its gradient.",
    .inputs = "features: T, labels: T",
    .outputs = "loss: T, backprop: T",
    .infer = infer_softmax_cross_entropy_with_logits,
    .lower = lower_softmax_cross_entropy_with_logits,
    .gradient = softmax_cross_entropy_with_logits_gradient,
};
}  // namespace ops
}  // namespace systole
