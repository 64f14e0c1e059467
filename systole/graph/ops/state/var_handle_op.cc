#include "systole/graph/ops/state/variable_ops.h"

namespace systole {
namespace {

std::vector<TensorType> infer_var_handle_op(const InferContext& c) {
  const TensorType type{c.attr<DType>("dtype"), c.attr<Shape>("shape")};
  if (!is_numeric(type.dtype) || !type.is_static()) {
    throw invalid_argument("type, got {}, expected a numeric dtype and known sizes", type);
  }
  return {{DType::resource, {}}};
}

// The initial value is never used: variables of an imported graph are restored.
std::vector<Output> import_var_handle_op(const ImportContext& c) {
  if (c.whole_graph) return c.add({}, c.attrs);
  return {import_variable(c).handle()};
}

}  // namespace

namespace ops {
extern const OpDef op_var_handle_op{
    .name = "VarHandleOp",
    .doc = "The storage of a variable.",
    .outputs = "resource: resource",
    .attrs = "dtype: type, shape: shape, container: string = '', shared_name: string = ''",
    .graph_def = {.import_node = import_var_handle_op},
    .infer = infer_var_handle_op,
    .lower = [](LowerContext&) { return std::vector<hlo::Value>(1); },  // a handle has no value
    .traits = {.blocks_gradient = true,
               .stateful = true,
               .costs_no_memory = true,
               .static_source = true},
};
}  // namespace ops
}  // namespace systole
