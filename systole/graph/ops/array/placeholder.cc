#include "systole/graph/api/array_ops.h"
#include "systole/graph/op_def.h"

namespace systole {
namespace {

std::vector<TensorType> infer_placeholder(const InferContext& c) {
  return {{c.attr<DType>("dtype"), c.attr<Shape>("shape")}};
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
extern const OpDef op_placeholder;
const OpDef op_placeholder{
    .name = "Placeholder",
    .doc = "A tensor that every run must be fed.",
    .infer = infer_placeholder,
};
}  // namespace ops
}  // namespace systole
