#include "systole/graph/core/op_def.h"

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
extern const OpDef op_arg{
    .name = "_Arg",
    .doc = "An argument of a function.",
    .outputs = "output: T",
    .attrs = "shape: shape",
    .graph_def = {.impossible =
                      "it is an argument of a function, which the signature of the function holds",
                  .tensorflow = TensorFlowOp::none},
    .infer = infer_arg,
    .lower = lower_arg,
    .traits = {.blocks_gradient = true},
};
}  // namespace ops
}  // namespace systole
