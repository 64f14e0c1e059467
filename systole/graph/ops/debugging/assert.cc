#include "systole/graph/api/debugging_ops.h"
#include "systole/graph/api/node_builder.h"
#include "systole/graph/lowering/run_check.h"
#include "systole/graph/op_def.h"

namespace systole {
namespace {

std::vector<TensorType> infer_assert(const InferContext& c) {
  if (c.input(0) != TensorType{DType::pred, {}}) {
    throw invalid_argument("condition, got {}, expected pred[]", c.input(0));
  }
  const std::optional<Tensor> known = c.constant_input(0);
  const bool may_never_run = c.inputs[0].graph().outer() != nullptr;  // a branch, a body
  if (known && !known->item<bool>() && !may_never_run) {
    throw invalid_argument("assertion failed: {}", c.attr<std::string>("_message"));
  }
  return {};
}

std::vector<hlo::Value> lower_assert(LowerContext& c) {
  fail_where(c, c.b.unary(hlo::Opcode::not_, c.input(0)),
             fmt::format("Assert: assertion failed: {}, {}", c.attr<std::string>("_message"),
                         c.node.describe()));
  return {};
}

}  // namespace

Operation assert_op(const Input& condition, const AssertOptions& options) {
  return Graph::current().add_node("Assert", {resolve("Assert", condition)},
                                   {{"_message", options.message}}, condition.where(),
                                   options.name);
}

namespace ops {
extern const OpDef op_assert;
const OpDef op_assert{
    .name = "Assert",
    .doc = "Fails the run when its input is false.",
    .infer = infer_assert,
    .lower = lower_assert,
    .blocks_gradient = true,
    .stateful = true,
};
}  // namespace ops
}  // namespace systole
