#include "systole/graph/api/array_ops.h"
#include "systole/graph/core/axes.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/ops/array/array_common.h"

namespace systole {
namespace {

std::vector<TensorType> infer_reverse(const InferContext& c) {
  normalize_axes(known_ints(c, 1, "axis"), c.input(0).shape.rank());
  return {c.input(0)};
}

std::vector<hlo::Value> lower_reverse(LowerContext& c) {
  return {c.b.reverse(c.input(0), normalize_axes(c.constant_ints(1), c.input(0).shape().rank()))};
}

std::vector<Output> reverse_gradient(GradientContext& c) {
  return {reverse(c.grad(), known_ints(c.input(1))), {}};
}

}  // namespace

Output reverse(const Input& tensor, const Axes& axis, const NameOptions& options) {
  const CompositionScope scope(tensor, options.name, "ReverseV2");
  const Output value = resolve("ReverseV2", tensor);
  const Dims axes = axis.list(value.shape().rank());
  return Graph::current()
      .add_node("ReverseV2", {value, ints_constant({axes.begin(), axes.end()}, "axis")},
                {{"T", value.dtype()}}, {}, scope.result().name)
      ->output();
}

namespace ops {
extern const OpDef op_reverse{
    .name = "ReverseV2",
    .doc = "The opposite order along axes.",
    .inputs = "tensor: T, axis: Tidx",
    .outputs = "output: T",
    .infer = infer_reverse,
    .lower = lower_reverse,
    .gradient = reverse_gradient,
    .traits = {.moves_elements = true},
};
}  // namespace ops
}  // namespace systole
