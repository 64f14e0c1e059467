#include "systole/graph/ops/nn/softmax_common.h"

#include <numeric>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/axes.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/core/dtype_class.h"
#include "systole/graph/core/op_error.h"

namespace systole {

SoftmaxParts softmax_parts(hlo::Builder& b, hlo::Value logits) {
  const Shape& shape = logits.shape();
  const hlo::Value largest = spread_rows(b, reduce_rows(b, logits, hlo::Opcode::maximum), shape);
  const hlo::Value shifted = b.subtract(logits, largest);
  const hlo::Value exponentials = b.unary(hlo::Opcode::exponential, shifted);
  return {shifted, exponentials,
          spread_rows(b, reduce_rows(b, exponentials, hlo::Opcode::add), shape)};
}

hlo::Value reduce_rows(hlo::Builder& b, hlo::Value x, hlo::Opcode reducer) {
  const DType wide = reducer == hlo::Opcode::add ? accumulation_dtype(x.dtype()) : x.dtype();
  return b.convert(b.reduce(b.convert(x, wide), reducer, {x.shape().rank() - 1}), x.dtype());
}

hlo::Value spread_rows(hlo::Builder& b, hlo::Value rows, const Shape& shape) {
  Dims axes;
  for (int i = 0; i + 1 < shape.rank(); ++i) axes.push_back(i);
  return b.broadcast_in_dim(rows, shape, axes);
}

void check_logits(const TensorType& logits) {
  check_dtype("logits", logits.dtype, DTypeClass::floating);
  if (logits.shape.rank() == 0) throw invalid_argument("logits, got a scalar, expected rank >= 1");
}

std::vector<TensorType> infer_softmax(const InferContext& c) {
  check_logits(c.input(0));
  return {c.input(0)};
}

Shape row_shape(const Shape& shape) { return Shape(Dims(shape.begin(), shape.end() - 1)); }

Output axis_to_end(Output x, int64_t axis) {
  const int rank = x.shape().rank();
  if (rank == 0) return x;
  const int64_t at = normalize_axis(axis, rank);
  if (at == rank - 1) return x;
  Dims order = other_axes({at}, rank);
  order.push_back(at);
  return transpose(x, {.perm = {order.begin(), order.end()}});
}

Output cross_entropy_gradient(GradientContext& c) {
  const Output result = multiply(expand_dims(c.grad(0), -1), c.output(1));
  const Output g = c.output_gradients[1];
  if (!g.valid()) return result;
  const Output p = softmax(c.input(0));
  const Output projection = reduce_sum(multiply(g, p), {.axis = -1, .keepdims = true});
  return add(result, multiply(p, subtract(g, projection)));
}

Output softmax_op(std::string_view op, const Input& logits, const SoftmaxOptions& options) {
  const CompositionScope scope(logits, options.name, op);
  const Output x = resolve(op, logits);
  const int rank = x.shape().rank();
  const Input rows = with_op(op, logits.where(), [&] { return axis_to_end(x, options.axis); });
  if (rows.resolve() == x) return add_op(op, {rows}, scope.result().name);
  std::vector<int64_t> back(static_cast<size_t>(rank) - 1);
  std::iota(back.begin(), back.end(), 0);
  back.insert(back.begin() + normalize_axis(options.axis, rank), rank - 1);
  return transpose(add_op(op, {rows}), {.perm = back, .name = scope.result().name});
}

}  // namespace systole
