#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/ops/math/elementwise.h"

namespace systole {
namespace {

int64_t cumsum_axis(const Tensor& axis, int rank) {
  return normalize_axis(static_cast<int64_t>(axis.as_double(0)), rank);
}

std::vector<TensorType> infer_cumsum(const InferContext& c) {
  check_dtype("dtype", c.input(0).dtype, DTypeClass::number);
  const TensorType& axis = c.input(1);
  if (!is_integer(axis.dtype) || axis.shape.rank() != 0) {
    throw invalid_argument("axis, got {}, expected an integer scalar", axis);
  }
  if (const auto known = c.constant_input(1)) cumsum_axis(*known, c.input(0).shape.rank());
  return {c.input(0)};
}

// Element i of the result is x[i - distance], or x[i + distance] when reversed; zeros come in at
// the edge.
hlo::Value shifted(hlo::Builder& b, hlo::Value x, int64_t axis, int64_t distance, bool reverse) {
  Dims in(static_cast<size_t>(x.shape().rank()), 0);
  Dims out = in;
  in[axis] = distance;
  out[axis] = -distance;
  const hlo::Value zero = b.scalar(x.dtype(), 0);
  return reverse ? b.pad(x, zero, out, in) : b.pad(x, zero, in, out);
}

// Doubles the length of the sums in each step. Hillis and Steele, "Data parallel algorithms", 1986.
std::vector<hlo::Value> lower_cumsum(LowerContext& c) {
  const hlo::Value x = c.input(0);
  const int64_t axis = cumsum_axis(c.constant_input(1), x.shape().rank());
  const bool reverse = c.attr<bool>("reverse");
  const int64_t size = x.shape()[static_cast<int>(axis)];
  hlo::Value sums = c.b.convert(x, accumulation_dtype(x.dtype()));
  if (c.attr<bool>("exclusive") && size > 0) sums = shifted(c.b, sums, axis, 1, reverse);
  for (int64_t length = 1; length < size; length *= 2) {
    sums = c.b.add(sums, shifted(c.b, sums, axis, length, reverse));
  }
  return {c.b.convert(sums, x.dtype())};
}

Output add_cumsum(const Output& x, const Output& axis, bool exclusive, bool reverse,
                  SourceLocation where = {}, std::string_view name = {}) {
  AttrMap attrs{
      {"T", x.dtype()}, {"Tidx", axis.dtype()}, {"exclusive", exclusive}, {"reverse", reverse}};
  return Graph::current().add_node("Cumsum", {x, axis}, std::move(attrs), where, name)->output();
}

std::vector<Output> cumsum_gradient(GradientContext& c) {
  return {add_cumsum(c.grad(), c.input(1), c.attr<bool>("exclusive"), !c.attr<bool>("reverse")),
          Output()};
}

}  // namespace

Output cumsum(const Input& x, const CumsumOptions& options) {
  const CompositionScope scope(x, options.name, "Cumsum");
  const Output value = resolve("Cumsum", x);
  const Tensor axis(static_cast<int32_t>(options.axis));
  return add_cumsum(value, constant(axis, {.name = "axis"}), options.exclusive, options.reverse,
                    x.where(), scope.result().name);
}

namespace ops {
extern const OpDef op_cumsum{
    .name = "Cumsum",
    .doc = "Running sums along an axis.",
    .inputs = "x: T, axis: Tidx",
    .outputs = "out: T",
    .attrs = "exclusive: bool = false, reverse: bool = false",
    .infer = infer_cumsum,
    .lower = lower_cumsum,
    .gradient = cumsum_gradient,
};
}  // namespace ops
}  // namespace systole
