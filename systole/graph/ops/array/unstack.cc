#include "systole/graph/api/array_ops.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/core/constant_value.h"
#include "systole/graph/core/op_error.h"
#include "systole/graph/ops/array/array_common.h"

namespace systole {
namespace {

int checked(const Shape& x, int64_t axis, int64_t num) {
  const int at = checked_axis(axis, x.rank());
  if (num < 0) {
    throw invalid_argument("size of axis {} of {}, got an unknown one, expected num to give it", at,
                           x);
  }
  if (x[at] != kUnknown && x[at] != num) {
    throw invalid_argument("num, got {}, expected {} as axis {} of {} has", num, x[at], at, x);
  }
  return at;
}

std::vector<TensorType> infer_unstack(const InferContext& c) {
  const Shape& x = c.input(0).shape;
  const int64_t num = c.attr<int64_t>("num");
  const int axis = checked(x, c.attr<int64_t>("axis"), num);
  return std::vector<TensorType>(static_cast<size_t>(num),
                                 {c.input(0).dtype, without_axis(x, axis)});
}

std::vector<hlo::Value> lower_unstack(LowerContext& c) {
  const Shape& x = c.input(0).shape();
  const int64_t num = c.attr<int64_t>("num");
  const int axis = checked(x, c.attr<int64_t>("axis"), num);
  const std::vector<int64_t> ones(static_cast<size_t>(num), 1);
  std::vector<hlo::Value> slices = cut(c.b, c.input(0), axis, ones);
  for (hlo::Value& slice : slices) slice = c.b.reshape(slice, without_axis(x, axis));
  return slices;
}

std::vector<Output> unstack_gradient(GradientContext& c) {
  std::vector<Output> slices;
  for (int i = 0; i < c.node.num_outputs(); ++i) slices.push_back(c.grad(i));
  return {stack(slices, {.axis = c.attr<int64_t>("axis")})};
}

std::optional<PartialValue> unstack_element(const Output& output) {
  const auto value = partial_value(output.node()->input(0));
  if (!value || value->shape.rank() != 1) return std::nullopt;
  return partial_scalar(value->dtype, value->elements[output.index()]);
}

}  // namespace

std::vector<Output> unstack(const Input& value, const UnstackOptions& options) {
  const CompositionScope scope(value, options.name, "unstack");
  const Output x = resolve("Unpack", value);
  const int axis = with_op("Unpack", value.where(),
                           [&] { return checked_axis(options.axis, x.shape().rank()); });
  const int64_t num = options.num < 0 ? x.shape()[axis] : options.num;
  return Graph::current()
      .add_node("Unpack", {x}, {{"T", x.dtype()}, {"num", num}, {"axis", options.axis}}, {},
                scope.result().name)
      ->outputs();
}

namespace ops {
extern const OpDef op_unstack{
    .name = "Unpack",
    .doc = "The slices along an axis, without it.",
    .inputs = "value: T",
    .outputs = "output: num * T",
    .attrs = "axis: int = 0",
    .infer = infer_unstack,
    .lower = lower_unstack,
    .gradient = unstack_gradient,
    .constant_rule = unstack_element,
    .traits = {.moves_elements = true},
};
}  // namespace ops
}  // namespace systole
