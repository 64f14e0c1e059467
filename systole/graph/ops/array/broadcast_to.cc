#include "systole/graph/api/array_ops.h"
#include "systole/graph/core/composition.h"
#include "systole/graph/lowering/broadcast.h"
#include "systole/graph/ops/array/array_common.h"

namespace systole {
namespace {

std::vector<TensorType> infer_broadcast_to(const InferContext& c) {
  const auto shape = c.input_as_shape(1);
  if (!shape)
    throw invalid_argument("shape, got {}, expected a known number of dimensions", c.input(1));
  const Shape& x = c.input(0).shape;
  const Shape joint = broadcast_shapes(x, *shape);
  if (!joint.compatible_with(*shape)) {
    throw invalid_argument("shape, got {} for a tensor of {}, expected one that it broadcasts to",
                           *shape, x);
  }
  return {{c.input(0).dtype, *shape}};
}

std::vector<hlo::Value> lower_broadcast_to(LowerContext& c) {
  return {c.b.broadcast(c.input(0), Shape(std::span<const int64_t>(c.constant_ints(1))))};
}

std::vector<Output> broadcast_to_gradient(GradientContext& c) {
  return {sum_to_shape_of(c.grad(), c.input(0)), {}};
}

}  // namespace

Output broadcast_to(const Input& input, const ShapeInput& shape, const NameOptions& options) {
  const CompositionScope scope(input, options.name, "BroadcastTo");
  const Output value = resolve("BroadcastTo", input);
  return Graph::current()
      .add_node("BroadcastTo", {value, resolve("BroadcastTo", shape)}, {{"T", value.dtype()}}, {},
                scope.result().name)
      ->output();
}

namespace ops {
extern const OpDef op_broadcast_to{
    .name = "BroadcastTo",
    .doc = "Repeated along axes of size 1 and new leading axes.",
    .inputs = "input: T, shape: Tidx",
    .outputs = "output: T",
    .infer = infer_broadcast_to,
    .lower = lower_broadcast_to,
    .gradient = broadcast_to_gradient,
    .traits = {.moves_elements = true, .costs_no_memory = true},
};
}  // namespace ops
}  // namespace systole
