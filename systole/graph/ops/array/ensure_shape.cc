#include "systole/graph/api/set_shape.h"
#include "systole/graph/batching/batch_rule.h"
#include "systole/graph/core/constant_value.h"
#include "systole/graph/core/graph_def_node.h"
#include "systole/graph/core/node_builder.h"
#include "systole/graph/core/op_def.h"
#include "systole/graph/core/where_scope.h"
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

BatchResults batch_ensure_shape(const BatchContext& c) {
  const Shape& element = c.node.attr<Shape>("shape");
  Dims sizes{kUnknown};
  sizes.insert(sizes.end(), element.begin(), element.end());
  AttrMap attrs = c.attrs;
  attrs["shape"] = Shape(std::move(sizes));
  return c.rebuild(c.values(), std::move(attrs));
}

// A shape of unknown rank declares nothing.
std::vector<Output> import_ensure_shape(const ImportContext& c) {
  if (!c.attrs.contains("shape")) {
    return {identity(c.input(0), {.name = std::string(c.name)})};
  }
  return c.add({c.input(0)}, c.attrs);
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
extern const OpDef op_ensure_shape{
    .name = "EnsureShape",
    .doc = "Its input, whose shape is declared and checked.",
    .inputs = "input: T",
    .outputs = "output: T",
    .attrs = "shape: shape",
    .graph_def = {.import_node = import_ensure_shape},
    .infer = infer_ensure_shape,
    .lower = lower_ensure_shape,
    .gradient = [](GradientContext& c) { return std::vector{c.grad()}; },
    .constant_rule = same_elements,
    .batch = {.rule = batch_ensure_shape},
    .traits = {.moves_elements = true, .passes_on = PassesOn::declared},
};
}  // namespace ops
}  // namespace systole
