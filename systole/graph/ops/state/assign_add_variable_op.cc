#include "systole/graph/ops/state/variable_ops.h"

namespace systole::ops {

extern const OpDef op_assign_add_variable_op{
    .name = "AssignAddVariableOp",
    .doc = "A value is added to a variable.",
    .inputs = "resource: resource, value: dtype",
    .infer = infer_assignment,
    .lower = lower_assignment<hlo::Opcode::add>,
    .traits = {.blocks_gradient = true, .stateful = true},
};

}  // namespace systole::ops
