#include "systole/graph/api/array_ops.h"
#include "systole/graph/core/graph_def_node.h"
#include "systole/graph/core/node_builder.h"
#include "systole/graph/core/op_def.h"

namespace systole {
namespace {

std::vector<TensorType> infer_placeholder_with_default(const InferContext& c) {
  const auto& shape = c.attr<Shape>("shape");
  if (!c.input(0).shape.compatible_with(shape)) {
    throw invalid_argument("input, got {}, expected one of shape {}", c.input(0), shape);
  }
  return {{c.input(0).dtype, shape}};
}

std::vector<Output> import_placeholder_with_default(const ImportContext& c) {
  if (!c.whole_graph || !c.attrs.contains("shape")) {
    return {identity(c.input(0), {.name = std::string(c.name)})};
  }
  return c.add({c.input(0)}, c.attrs);
}

}  // namespace

Output placeholder_with_default(const Input& input, const Shape& shape, std::string_view name) {
  constexpr std::string_view kOp = "PlaceholderWithDefault";
  const Output value = resolve(kOp, input);
  return Graph::current()
      .add_node(kOp, {value}, {{"dtype", value.dtype()}, {"shape", shape}}, input.where(), name)
      ->output();
}

namespace ops {
extern const OpDef op_placeholder_with_default{
    .name = "PlaceholderWithDefault",
    .doc = "Its input, unless a run feeds another value.",
    .inputs = "input: dtype",
    .outputs = "output: dtype",
    .attrs = "shape: shape",
    .graph_def = {.import_node = import_placeholder_with_default},
    .infer = infer_placeholder_with_default,
    .lower = [](LowerContext& c) { return std::vector{c.input(0)}; },
    .gradient = [](GradientContext& c) { return std::vector{c.grad()}; },
};
}  // namespace ops
}  // namespace systole
