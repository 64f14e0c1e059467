#include "systole/graph/op_def.h"
#include "systole/graph/specialize.h"
#include "systole/graph/variable_ops.h"

namespace systole {
namespace {

std::vector<hlo::Value> lower(LowerContext& c) {
  const Node& variable = variable_node(c.node.input(0));
  const hlo::Value before = c.lowering.read_variable(variable, /*at_start=*/false);
  c.lowering.assign_variable(variable, c.b.add(before, c.input(1)));
  return {};
}

}  // namespace

namespace ops {
extern const OpDef op_assign_add_variable_op;
const OpDef op_assign_add_variable_op{
    .name = "AssignAddVariableOp",
    .doc = "A value is added to a variable.",
    .infer = infer_assignment,
    .lower = lower,
    .blocks_gradient = true,
    .stateful = true,
};
}  // namespace ops
}  // namespace systole
