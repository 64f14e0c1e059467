// How ops of replicas write their groups: an input s32[groups, size], with no elements for one
// group of all.
#pragma once

#include "systole/graph/api/tpu_collectives.h"
#include "systole/graph/core/op_def.h"

namespace systole {

// As a constant. Errors: INVALID_ARGUMENT `<op>: group_assignment, ...` unless groups are of one
// size and hold each number from 0 on once.
Output group_constant(std::string_view op, const tpu::GroupAssignment& groups,
                      SourceLocation where);
// Checks the type of input `i`.
void check_groups_input(const InferContext& c, int i);
// Input `i` as HLO has it.
hlo::CollectiveAttrs collective_attrs(const LowerContext& c, int i);

}  // namespace systole
