#include "systole/graph/api/array_ops.h"
#include "systole/graph/ops/math/elementwise.h"
#include "systole/graph/ops/math/reduction.h"

namespace systole {
namespace {

// The axes that `shape`, which broadcasts to x, lacks or has at size 1.
Dims summed_axes(const Shape& x, const Shape& shape) {
  const int extra = x.rank() - shape.rank();
  Dims axes;
  for (int i = 0; i < x.rank(); ++i) {
    if (i < extra || (shape[i - extra] == 1 && x[i] != 1)) axes.push_back(i);
  }
  return axes;
}

bool broadcasts(const Shape& shape, const Shape& x) {
  if (shape.rank() > x.rank()) return false;
  for (int i = 1; i <= shape.rank(); ++i) {
    const int64_t from = shape[shape.rank() - i];
    const int64_t to = x[x.rank() - i];
    if (from != to && from != 1 && from != kUnknown && to != kUnknown) return false;
  }
  return true;
}

void check(const Shape& x, const Shape& shape) {
  if (broadcasts(shape, x)) return;
  throw invalid_argument("shape, got {}, expected one that broadcasts to {}", shape, x);
}

std::vector<TensorType> infer_sum_to_shape(const InferContext& c) {
  check_dtype("dtype", c.input(0).dtype, DTypeClass::number);
  const std::optional<Shape> shape = c.input_as_shape(1);
  if (!shape) {
    throw invalid_argument("shape, got {}, expected a known number of dimensions", c.input(1));
  }
  check(c.input(0).shape, *shape);
  return {{c.input(0).dtype, *shape}};
}

std::vector<hlo::Value> lower_sum_to_shape(LowerContext& c) {
  const hlo::Value x = c.input(0);
  const std::vector<int64_t> sizes = c.constant_ints(1);
  const Shape shape{std::span<const int64_t>(sizes)};
  check(x.shape(), shape);
  if (x.shape() == shape) return {x};
  return {
      c.b.reshape(lower_reduce(c.b, x, hlo::Opcode::add, summed_axes(x.shape(), shape)), shape)};
}

std::vector<Output> sum_to_shape_gradient(GradientContext& c) {
  return {broadcast_to(c.grad(), shape(c.input(0))), Output()};
}

}  // namespace

Output sum_to_shape(const Input& x, const Input& shape) {
  const Output value = resolve("SumToShape", x);
  return Graph::current()
      .add_node("SumToShape", {value, resolve("SumToShape", shape)}, {{"T", value.dtype()}},
                x.where())
      ->output();
}

namespace ops {
extern const OpDef op_sum_to_shape{
    .name = "SumToShape",
    .doc = "x summed down to a shape that broadcasts to its own.",
    .inputs = "input: T, shape: Tshape",
    .outputs = "output: T",
    .graph_def = {.tensorflow = TensorFlowOp::none},
    .infer = infer_sum_to_shape,
    .lower = lower_sum_to_shape,
    .gradient = sum_to_shape_gradient,
};
}  // namespace ops
}  // namespace systole
