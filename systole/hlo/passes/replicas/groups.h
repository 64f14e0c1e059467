// The groups of a collective op, as replicas.
#pragma once

#include <cstdint>
#include <vector>

#include "systole/hlo/ir/collective.h"

namespace systole::hlo::replicas {

// For each replica the replicas that it works with, in the order of the group; none when it takes
// no part. Errors: those of group_around.
std::vector<std::vector<int64_t>> groups_of(const Instruction& instruction,
                                            const CollectiveAttrs& attrs, Grouping grouping,
                                            Groups groups, int num_replicas);

// Those of an instruction with a CollectiveAttrs among its attributes.
std::vector<std::vector<int64_t>> groups_of(const Instruction& instruction, int num_replicas);

// Every replica works with all others.
bool is_one_group(const std::vector<std::vector<int64_t>>& groups);

}  // namespace systole::hlo::replicas
