#include "systole/graph/api/array_ops.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/core/constant_value.h"
#include "systole/graph/ops/array/array_common.h"

namespace systole {
namespace {

std::vector<TensorType> infer_expand_dims(const InferContext& c) {
  const Shape& x = c.input(0).shape;
  const int axis = checked_axis(known_ints(c, 1, "axis").at(0), x.rank() + 1);
  return {{c.input(0).dtype, with_axis(x, axis, 1)}};
}

std::vector<hlo::Value> lower_expand_dims(LowerContext& c) {
  const Shape& x = c.input(0).shape();
  const int axis = checked_axis(c.constant_ints(1).at(0), x.rank() + 1);
  return {c.b.reshape(c.input(0), with_axis(x, axis, 1))};
}

std::vector<Output> expand_dims_gradient(GradientContext& c) {
  return {reshape(c.grad(), shape(c.input(0))), {}};
}

BatchResults batch_expand_dims(const BatchContext& c) {
  const auto axis = c.constant_ints(1);
  if (!axis || !c.inputs[0].batched) return std::nullopt;
  return std::vector{expand_dims(c.inputs[0].value, axes_after_batch(*axis)[0])};
}

}  // namespace

Output expand_dims(const Input& input, int64_t axis, const NameOptions& options) {
  const CompositionScope scope(input, options.name, "ExpandDims");
  const Output value = resolve("ExpandDims", input);
  return Graph::current()
      .add_node("ExpandDims", {value, int_constant(axis, "dim")}, {{"T", value.dtype()}}, {},
                scope.result().name)
      ->output();
}

namespace ops {
extern const OpDef op_expand_dims{
    .name = "ExpandDims",
    .doc = "A new axis of size 1.",
    .inputs = "input: T, dim: Tdim",
    .outputs = "output: T",
    .infer = infer_expand_dims,
    .lower = lower_expand_dims,
    .gradient = expand_dims_gradient,
    .constant_rule = same_elements,
    .batch = {.rule = batch_expand_dims},
    .traits = {.moves_elements = true, .passes_on = PassesOn::elements},
};
}  // namespace ops
}  // namespace systole
