#include "systole/graph/api/node_builder.h"
#include "systole/graph/api/set_shape.h"
#include "systole/graph/api/where_scope.h"
#include "systole/graph/op_def.h"
#include "systole/graph/ops/array/array_common.h"

namespace systole {
namespace {

std::vector<TensorType> infer_ensure_shape(const InferContext& c) {
  return {{c.input(0).dtype, ensured(c.input(0).shape, c.attr<Shape>("shape"))}};
}

std::vector<hlo::Value> lower_ensure_shape(LowerContext& c) {
  static_cast<void>(ensured(c.input(0).shape(), c.attr<Shape>("shape")));
  return {c.input(0)};
}

}  // namespace

Output set_shape(const Input& x, const Shape& shape) {
  const Output value = resolve("set_shape", x);
  if (!value.shape().compatible_with(shape)) {
    throw at_line(invalid_argument("set_shape: shape, got {}, expected one that fits {}", shape,
                                   value.type()),
                  x.where());
  }
  if (ensured(value.shape(), shape) == value.shape()) return value;
  const WhereScope where(x.where());
  return Graph::current()
      .add_node("EnsureShape", {value}, {{"T", value.dtype()}, {"shape", shape}}, x.where())
      ->output();
}

namespace ops {
extern const OpDef op_ensure_shape;
const OpDef op_ensure_shape{
    .name = "EnsureShape",
    .doc = "Its input, whose shape is declared and checked.",
    .infer = infer_ensure_shape,
    .lower = lower_ensure_shape,
    .gradient = [](GradientContext& c) { return std::vector{c.grad()}; },
};
}  // namespace ops
}  // namespace systole
