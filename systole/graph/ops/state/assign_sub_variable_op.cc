#include "systole/graph/ops/state/variable_ops.h"

namespace systole::ops {

extern const OpDef op_assign_sub_variable_op{
    .name = "AssignSubVariableOp",
    .doc = "A value is subtracted from a variable.",
    .inputs = "resource: resource, value: dtype",
    .infer = infer_assignment,
    .lower = lower_assignment<hlo::Opcode::subtract>,
    .traits = {.blocks_gradient = true, .stateful = true},
};

}  // namespace systole::ops
