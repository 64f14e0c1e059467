#include "systole/graph/api/array_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/core/constant_value.h"
#include "systole/graph/ops/array/array_common.h"

namespace systole {
namespace {

std::vector<TensorType> infer_stack(const InferContext& c) {
  TensorType each = c.input(0);
  for (int i = 1; i < c.num_inputs(); ++i) {
    if (c.input(i).dtype != each.dtype || !c.input(i).shape.compatible_with(each.shape)) {
      throw invalid_argument("values 0 and {}, got {} and {}, expected equal", i, c.input(0),
                             c.input(i));
    }
    for (int d = 0; d < each.shape.rank(); ++d) {
      if (each.shape[d] == kUnknown) each.shape.set_dim(d, c.input(i).shape[d]);
    }
  }
  const int axis = checked_axis(c.attr<int64_t>("axis"), each.shape.rank() + 1);
  return {{each.dtype, with_axis(each.shape, axis, c.num_inputs())}};
}

std::vector<hlo::Value> lower_stack(LowerContext& c) {
  const Shape& shape = c.input(0).shape();
  const int axis = checked_axis(c.attr<int64_t>("axis"), shape.rank() + 1);
  std::vector<hlo::Value> slices;
  for (const hlo::Value& value : c.inputs)
    slices.push_back(c.b.reshape(value, with_axis(shape, axis, 1)));
  return {c.b.concatenate(slices, axis)};
}

std::vector<Output> stack_gradient(GradientContext& c) {
  return unstack(c.grad(), {.num = c.node.num_inputs(), .axis = c.attr<int64_t>("axis")});
}

std::optional<PartialValue> stack_elements(const Output& output) {
  std::vector<KnownElement> elements;
  for (const Output& input : output.node()->inputs()) {
    const auto value = partial_value(input);
    if (input.shape().rank() != 0) return std::nullopt;
    elements.push_back(value ? value->elements[0] : KnownElement());
  }
  return partial_vector(output.dtype(), std::move(elements));
}

BatchResults batch_stack(const BatchContext& c) {
  if (!c.all_batched()) return std::nullopt;
  return batch_axis_attr(c);
}

}  // namespace

Output stack(const InputList& values, const StackOptions& options) {
  if (values.inputs().empty()) {
    throw at_line(invalid_argument("Pack: values, got none, expected at least one"), {});
  }
  const CompositionScope scope(values.inputs().front(), options.name, "stack");
  std::vector<Output> inputs = values.resolve();
  const AttrMap attrs{{"N", static_cast<int64_t>(inputs.size())},
                      {"T", inputs.front().dtype()},
                      {"axis", options.axis}};
  return Graph::current()
      .add_node("Pack", std::move(inputs), attrs, {}, scope.result().name)
      ->output();
}

namespace ops {
extern const OpDef op_stack{
    .name = "Pack",
    .doc = "Tensors of one shape along a new axis.",
    .inputs = "values: N * T",
    .outputs = "output: T",
    .attrs = "axis: int = 0",
    .infer = infer_stack,
    .lower = lower_stack,
    .gradient = stack_gradient,
    .constant_rule = stack_elements,
    .batch = {.rule = batch_stack},
    .traits = {.moves_elements = true},
};
}  // namespace ops
}  // namespace systole
