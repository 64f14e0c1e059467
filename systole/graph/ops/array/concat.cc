#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/core/constant_value.h"
#include "systole/graph/core/op_error.h"
#include "systole/graph/ops/array/array_common.h"

namespace systole {
namespace {

int concat_axis_input(const InferContext& c) { return c.num_inputs() - 1; }

std::vector<TensorType> infer_concat(const InferContext& c) {
  TensorType joined = c.input(0);
  const int axis =
      checked_axis(known_ints(c, concat_axis_input(c), "axis").at(0), joined.shape.rank());
  for (int i = 1; i < concat_axis_input(c); ++i) {
    const TensorType& next = c.input(i);
    Shape rest = next.shape;
    if (rest.rank() == joined.shape.rank()) rest.set_dim(axis, joined.shape[axis]);
    if (next.dtype != joined.dtype || !rest.compatible_with(joined.shape)) {
      throw invalid_argument("values 0 and {}, got {} and {}, expected equal but for axis {}", i,
                             c.input(0), next, axis);
    }
    const int64_t size = next.shape[axis];
    const bool unknown = size == kUnknown || joined.shape[axis] == kUnknown;
    for (int d = 0; d < rest.rank(); ++d) {
      if (d != axis && joined.shape[d] == kUnknown) joined.shape.set_dim(d, rest[d]);
    }
    joined.shape.set_dim(axis, unknown ? kUnknown : joined.shape[axis] + size);
  }
  return {joined};
}

std::vector<hlo::Value> lower_concat(LowerContext& c) {
  const int last = c.num_inputs() - 1;
  const int axis = checked_axis(c.constant_ints(last).at(0), c.input(0).shape().rank());
  return {c.b.concatenate(c.inputs.first(static_cast<size_t>(last)), axis)};
}

// Each value's part of the gradient, cut out by sizes that are known when the program is compiled.
std::vector<Output> concat_gradient(GradientContext& c) {
  const int last = c.node.num_inputs() - 1;
  const int rank = c.input(0).shape().rank();
  const int axis = checked_axis(known_ints(c.input(last)).at(0), rank);
  std::vector<Output> results;
  Output begin = ints_constant(std::vector<int64_t>(static_cast<size_t>(rank), 0));
  std::vector<int64_t> only_axis(static_cast<size_t>(rank), 0);
  only_axis[axis] = 1;
  for (int i = 0; i < last; ++i) {
    const Output sizes = shape(c.input(i));
    results.push_back(slice(c.grad(), begin, sizes));
    begin = add(begin, multiply(sizes, ints_constant(only_axis)));
  }
  results.emplace_back();
  return results;
}

std::optional<PartialValue> concat_elements(const Output& output) {
  const Node& node = *output.node();
  std::vector<KnownElement> elements;
  for (const Output& input : node.inputs().first(node.inputs().size() - 1)) {
    const auto value = partial_value(input);
    if (!value || input.shape().rank() != 1) return std::nullopt;
    elements.insert(elements.end(), value->elements.begin(), value->elements.end());
    if (static_cast<int64_t>(elements.size()) > kMaxKnownElements) return std::nullopt;
  }
  return partial_vector(output.dtype(), std::move(elements));
}

BatchResults batch_concat(const BatchContext& c) {
  const auto axis = c.constant_ints(c.node.num_inputs() - 1);
  std::vector<Output> parts;
  for (size_t i = 0; i + 1 < c.inputs.size(); ++i) {
    if (!c.inputs[i].batched) return std::nullopt;
    parts.push_back(c.inputs[i].value);
  }
  if (!axis) return std::nullopt;
  return std::vector{concat(parts, axes_after_batch(*axis)[0], {.name = c.node.name()})};
}

}  // namespace

Output concat(const InputList& values, int64_t axis, const NameOptions& options) {
  if (values.inputs().empty()) {
    throw at_line(invalid_argument("ConcatV2: values, got none, expected at least one"), {});
  }
  const CompositionScope scope(values.inputs().front(), options.name, "concat");
  std::vector<Output> inputs = values.resolve();
  if (inputs.size() == 1) {
    const int rank = inputs[0].shape().rank();
    with_op("ConcatV2", values.inputs().front().where(), [&] { return checked_axis(axis, rank); });
    return identity(inputs[0], scope.result());
  }
  const AttrMap attrs{{"N", static_cast<int64_t>(inputs.size())}, {"T", inputs.front().dtype()}};
  inputs.push_back(int_constant(axis, "axis"));
  return Graph::current()
      .add_node("ConcatV2", std::move(inputs), attrs, {}, scope.result().name)
      ->output();
}

namespace ops {
extern const OpDef op_concat{
    .name = "ConcatV2",
    .doc = "Tensors one after the other along an axis.",
    .inputs = "values: N * T, axis: Tidx",
    .outputs = "output: T",
    .infer = infer_concat,
    .lower = lower_concat,
    .gradient = concat_gradient,
    .constant_rule = concat_elements,
    .batch = {.rule = batch_concat},
    .traits = {.moves_elements = true},
};
}  // namespace ops
}  // namespace systole
