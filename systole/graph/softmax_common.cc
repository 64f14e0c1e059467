#include "systole/graph/softmax_common.h"

#include "systole/graph/array_ops.h"
#include "systole/graph/axes.h"
#include "systole/graph/dtype_class.h"

namespace systole {

SoftmaxParts softmax_parts(hlo::Builder& b, hlo::Value logits) {
  const Shape& shape = logits.shape();
  const hlo::Value largest = spread_rows(b, reduce_rows(b, logits, hlo::Opcode::maximum), shape);
  const hlo::Value shifted = b.subtract(logits, largest);
  const hlo::Value exponentials = b.unary(hlo::Opcode::exponential, shifted);
  return {shifted, exponentials, spread_rows(b, reduce_rows(b, exponentials, hlo::Opcode::add), shape)};
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

Shape row_shape(const Shape& shape) {
  return Shape(Dims(shape.begin(), shape.end() - 1));
}

Output axis_to_end(Output x, int64_t axis) {
  const int rank = x.shape().rank();
  if (rank == 0 || normalize_axis(axis, rank) == rank - 1) return x;
  Dims order = other_axes({normalize_axis(axis, rank)}, rank);
  order.push_back(normalize_axis(axis, rank));
  return transpose(x, {.perm = {order.begin(), order.end()}});
}

Output axis_from_end(Output x, int64_t axis) {
  const int rank = x.shape().rank();
  if (rank == 0 || normalize_axis(axis, rank) == rank - 1) return x;
  const int64_t at = normalize_axis(axis, rank);
  std::vector<int64_t> order;
  for (int64_t i = 0; i + 1 < rank; ++i) order.push_back(i);
  order.insert(order.begin() + at, rank - 1);
  return transpose(x, {.perm = order});
}

}  // namespace systole
