#include "systole/graph/api/array_ops.h"
#include "systole/graph/core/graph_def_node.h"
#include "systole/graph/core/op_def.h"

namespace systole {
namespace {

std::vector<TensorType> infer_placeholder(const InferContext& c) {
  return {{c.attr<DType>("dtype"), c.attr<Shape>("shape")}};
}

// The value of a placeholder is an input of an import (ImportOptions::inputs), unless the whole
// graph is imported.
std::vector<Output> import_placeholder(const ImportContext& c) {
  if (!c.whole_graph) {
    throw invalid_argument("placeholder, got no value, expected it among the inputs");
  }
  if (!c.attrs.contains("shape")) {
    throw invalid_argument(
        "shape, got none and no op that tells the number of dimensions, expected a placeholder of "
        "yours among the inputs (ImportOptions::inputs[\"{}:0\"])",
        c.name);
  }
  return c.add({}, {{"dtype", c.attr<DType>("dtype")}, {"shape", c.attr<Shape>("shape")}});
}

}  // namespace

Output placeholder(DType dtype, const Shape& shape, std::string_view name, Input::Where where) {
  return Graph::current()
      .add_node("Placeholder", {}, {{"dtype", dtype}, {"shape", shape}}, where, name)
      ->output();
}

Output placeholder(std::string_view dtype, const Shape& shape, std::string_view name,
                   Input::Where where) {
  return placeholder(dtype_from_tf(dtype), shape, name, where);
}

namespace ops {
extern const OpDef op_placeholder{
    .name = "Placeholder",
    .doc = "A tensor that every run must be fed.",
    .outputs = "output: dtype",
    .attrs = "dtype: type, shape: shape",
    .graph_def = {.import_node = import_placeholder},
    .infer = infer_placeholder,
    .traits = {.costs_no_memory = true},
};
}  // namespace ops
}  // namespace systole
