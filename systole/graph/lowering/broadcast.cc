#include "systole/graph/lowering/broadcast.h"

#include <algorithm>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/core/unranked.h"

namespace systole {
namespace {

// One axis of two shapes that broadcast; -2 when they do not.
int64_t broadcast_dim(int64_t x, int64_t y) {
  if (x == y || y == 1) return x;
  if (x == 1) return y;
  if (x == kUnknown) return y;
  return y == kUnknown ? x : -2;
}

}  // namespace

Shape broadcast_shapes(const Shape& x, const Shape& y) {
  const int rank = std::max(x.rank(), y.rank());
  Dims dims(static_cast<size_t>(rank), 1);
  for (int i = 1; i <= rank; ++i) {
    const int64_t size =
        broadcast_dim(i <= x.rank() ? x[x.rank() - i] : 1, i <= y.rank() ? y[y.rank() - i] : 1);
    if (size < kUnknown) {
      throw invalid_argument("shapes, got {} and {}, expected shapes that broadcast", x, y);
    }
    dims[rank - i] = size;
  }
  return Shape(std::move(dims));
}

std::pair<hlo::Value, hlo::Value> broadcast_operands(LowerContext& c) {
  const hlo::Value x = c.input(0);
  const hlo::Value y = c.input(1);
  try {
    const Shape shape = broadcast_shapes(x.shape(), y.shape());
    return {c.b.broadcast(x, shape), c.b.broadcast(y, shape)};
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}: {}", c.node.op_name(), error.message()));
  }
}

Output sum_to_shape_of(Output gradient, Output x) {
  const bool fixed = x.shape().is_static() && !is_unranked(gradient) && !is_unranked(x);
  if (fixed && gradient.shape() == x.shape()) return gradient;
  return sum_to_shape(gradient, shape(x));
}

std::vector<Output> broadcast_gradients(GradientContext& c, Output for_x, Output for_y) {
  return {sum_to_shape_of(for_x, c.input(0)), sum_to_shape_of(for_y, c.input(1))};
}

Output expand_reduced(Output value, Output x, const Dims& axes, bool keepdims) {
  if (!keepdims) {
    for (const int64_t axis : axes) value = expand_dims(value, axis);
  }
  return broadcast_to(value, shape(x));
}

}  // namespace systole
