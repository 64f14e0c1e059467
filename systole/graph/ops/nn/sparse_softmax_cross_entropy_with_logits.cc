#include <limits>

#include "systole/graph/api/nn_ops.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/core/op_error.h"
#include "systole/graph/ops/array/array_common.h"
#include "systole/graph/ops/nn/softmax_common.h"

namespace systole {
namespace {

enum : int {
  kSparseSoftmaxCrossEntropyWithLogitsLogits,
  kSparseSoftmaxCrossEntropyWithLogitsLabels
};
enum : int {
  kSparseSoftmaxCrossEntropyWithLogitsLoss,
  kSparseSoftmaxCrossEntropyWithLogitsBackprop
};

std::vector<TensorType> infer_sparse_softmax_cross_entropy_with_logits(const InferContext& c) {
  const TensorType& logits = c.input(kSparseSoftmaxCrossEntropyWithLogitsLogits);
  check_logits(logits);
  const TensorType& labels = c.input(kSparseSoftmaxCrossEntropyWithLogitsLabels);
  if (!is_integer(labels.dtype) || !labels.shape.compatible_with(row_shape(logits.shape))) {
    throw invalid_argument("labels, got {}, expected integers of shape {} for logits {}", labels,
                           row_shape(logits.shape), logits);
  }
  return {{logits.dtype, row_shape(logits.shape)}, logits};
}

std::vector<hlo::Value> lower_sparse_softmax_cross_entropy_with_logits(LowerContext& c) {
  hlo::Builder& b = c.b;
  const hlo::Value logits = c.input(kSparseSoftmaxCrossEntropyWithLogitsLogits);
  const hlo::Value labels = wide_integers(b, c.input(kSparseSoftmaxCrossEntropyWithLogitsLabels));
  const Shape& shape = logits.shape();
  const int last = shape.rank() - 1;
  const hlo::Value classes = b.iota({labels.dtype(), shape}, last);
  const hlo::Value hot =
      b.compare(classes, spread_rows(b, labels, shape), hlo::ComparisonDirection::eq);
  const SoftmaxParts parts = softmax_parts(b, logits);
  const hlo::Value zero = b.splat_like(logits, 0);
  const hlo::Value log_probabilities =
      b.subtract(parts.shifted, b.unary(hlo::Opcode::log, parts.sums));
  const hlo::Value loss =
      b.negate(reduce_rows(b, b.select(hot, log_probabilities, zero), hlo::Opcode::add));
  const hlo::Value backprop = b.subtract(b.divide(parts.exponentials, parts.sums),
                                         b.select(hot, b.splat_like(logits, 1), zero));

  // A label without a class has no loss: NaN shows it, where 0 would hide it.
  const hlo::Value below = b.compare(labels, b.splat_like(labels, 0), hlo::ComparisonDirection::lt);
  const hlo::Value above = b.compare(labels, b.splat_like(labels, static_cast<double>(shape[last])),
                                     hlo::ComparisonDirection::ge);
  const hlo::Value bad = b.binary(hlo::Opcode::or_, below, above);
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  return {b.select(bad, b.splat_like(loss, kNan), loss),
          b.select(spread_rows(b, bad, shape), b.splat_like(backprop, kNan), backprop)};
}

std::vector<Output> sparse_softmax_cross_entropy_with_logits_gradient(GradientContext& c) {
  return {cross_entropy_gradient(c), {}};
}

}  // namespace

Output sparse_softmax_cross_entropy_with_logits(const CrossEntropyOptions& options) {
  constexpr std::string_view kOp = "SparseSoftmaxCrossEntropyWithLogits";
  const CompositionScope scope(options.logits, options.name, kOp);
  const Output logits = resolve(kOp, options.logits);
  const Output labels = resolve(kOp, options.labels);
  const Output rows =
      with_op(kOp, options.logits.where(), [&] { return axis_to_end(logits, options.axis); });
  return Graph::current()
      .add_node(kOp, {rows, labels}, {{"T", logits.dtype()}, {"Tlabels", labels.dtype()}}, {},
                scope.result().name)
      ->output(kSparseSoftmaxCrossEntropyWithLogitsLoss);
}

namespace ops {
extern const OpDef op_sparse_softmax_cross_entropy_with_logits{
    .name = "SparseSoftmaxCrossEntropyWithLogits",
    .doc = "Cross entropy of softmax(logits) against class numbers, and its gradient.",
    .inputs = "features: T, labels: Tlabels",
    .outputs = "loss: T, backprop: T",
    .infer = infer_sparse_softmax_cross_entropy_with_logits,
    .lower = lower_sparse_softmax_cross_entropy_with_logits,
    .gradient = sparse_softmax_cross_entropy_with_logits_gradient,
};
}  // namespace ops
}  // namespace systole
