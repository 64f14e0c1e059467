#include "systole/graph/op_def.h"

namespace systole {
namespace {

std::vector<TensorType> infer_arg(const InferContext& c) {
  return {{c.attr<DType>("T"), c.attr<Shape>("shape")}};
}

// Lowering a function binds its arguments; the node itself is never lowered.
std::vector<hlo::Value> lower_arg(LowerContext& c) {
  throw internal_error("_Arg: lowering, got {} outside of its function, expected it bound",
                       c.node.describe());
}

}  // namespace

namespace ops {
extern const OpDef op_arg;
const OpDef op_arg{
    .name = "_Arg",
    .doc = "An argument of a function.",
    .infer = infer_arg,
    .lower = lower_arg,
    .blocks_gradient = true,
};
}  // namespace ops
}  // namespace systole
