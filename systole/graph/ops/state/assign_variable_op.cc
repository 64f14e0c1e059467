#include "systole/graph/core/op_def.h"
#include "systole/graph/lowering/specialize.h"
#include "systole/graph/ops/state/variable_ops.h"

namespace systole {
namespace {

std::vector<hlo::Value> lower_assign_variable_op(LowerContext& c) {
  const Node& variable = variable_node(c.node.input(0));
  c.lowering.assign_variable(variable, c.input(1));
  return {};
}

}  // namespace

namespace ops {
extern const OpDef op_assign_variable_op{
    .name = "AssignVariableOp",
    .doc = "A variable takes a value.",
    .inputs = "resource: resource, value: dtype",
    .infer = infer_assignment,
    .lower = lower_assign_variable_op,
    .traits = {.blocks_gradient = true, .stateful = true},
};
}  // namespace ops
}  // namespace systole
