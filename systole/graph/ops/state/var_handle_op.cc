#include "systole/graph/op_def.h"

namespace systole {
namespace {

std::vector<TensorType> infer_var_handle_op(const InferContext& c) {
  const TensorType type{c.attr<DType>("dtype"), c.attr<Shape>("shape")};
  if (!is_numeric(type.dtype) || !type.is_static()) {
    throw invalid_argument("type, got {}, expected a numeric dtype and known sizes", type);
  }
  return {{DType::resource, {}}};
}

}  // namespace

namespace ops {
extern const OpDef op_var_handle_op;
const OpDef op_var_handle_op{
    .name = "VarHandleOp",
    .doc = "The storage of a variable.",
    .infer = infer_var_handle_op,
    .lower = [](LowerContext&) { return std::vector<hlo::Value>(1); },  // a handle has no value
    .blocks_gradient = true,
    .stateful = true,
};
}  // namespace ops
}  // namespace systole
