// Groups of devices that collectives name by the axes of a mesh.
#pragma once

#include "systole/hlo/ir/module.h"
#include "systole/stablehlo/text/parsed_op.h"

namespace systole::hlo::text {

// Replaces `replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @m, axes = [...]>` of an op
// by the dense groups that it means. `module` has the meshes that come before the op. Errors:
// INVALID_ARGUMENT for other text, unknown meshes and axes, and axes named twice.
void flatten_mesh_groups(Lexer& lexer, const Module& module, ParsedOp& op);

}  // namespace systole::hlo::text
