// Describes instructions to the kernels that do not read them themselves.
#pragma once

#include <cstdint>
#include <vector>

#include "systole/backends/cpu/kernels/join.h"
#include "systole/backends/cpu/kernels/pad.h"
#include "systole/backends/cpu/kernels/sort.h"
#include "systole/hlo/ir/module.h"

namespace systole::cpu {

// REQUIRES: a sort with elements.
SortProblem sort_problem(const hlo::Instruction& x, int num_threads);
// Describes operands [first, first + hlo::kMaxJoined) of a concatenation, as far as there are so
// many. Empty ones are left out. REQUIRES: a result with elements.
JoinedRows joined_rows(const hlo::Instruction& x, int64_t first, int64_t streamed_bytes);
// Returns the axes of a pad; none if it puts elements between those of the operand, or if the
// result has no element of the operand.
std::vector<PaddedAxis> padded_axes(const hlo::Instruction& x);

}  // namespace systole::cpu
