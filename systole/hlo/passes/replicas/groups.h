// The replica groups of a collective op.
#pragma once

#include <cstdint>
#include <vector>

#include "systole/hlo/semantics/collective.h"

namespace systole::hlo::replicas {

// Returns, for each process of the grid, the members of its group in group order; empty if the
// process is in no group. Errors: those of group_around.
std::vector<std::vector<int64_t>> groups_of(const Instruction& instruction,
                                            const ProcessGrid& grid);
// The same for as many replicas of one partition.
std::vector<std::vector<int64_t>> groups_of(const Instruction& instruction, int num_replicas);

// Returns whether all replicas are in one group.
bool is_one_group(const std::vector<std::vector<int64_t>>& groups);

}  // namespace systole::hlo::replicas
