// Analysis for row fusion. A step works by rows if its arrays split into the same number of equal,
// contiguous parts (rows) and each row of its results depends only on the same row of its operands.
// Such steps can run in sequence over a few rows at a time, which stay in a cache.
#pragma once

#include <functional>
#include <optional>

#include "systole/backends/cpu/analysis/element_access.h"

namespace systole::cpu {

// Returns the number of rows that the step requires: of a reduction, the leading axes that it
// keeps; of random bits, the axes before the last; of select_and_scatter, the leading axes with
// windows of size 1. Returns nullopt for other steps.
std::optional<int64_t> rows_of_step(const hlo::Instruction& step);

// Returns whether the reduction's operation has an identity, so that it can be split into parts.
bool has_identity(const hlo::Instruction& reduction);
// Returns whether the step reduces over all rows, in any order.
bool gathers_rows(const hlo::Instruction& step, int64_t rows);
// Returns whether the value is complete only after all rows: a reduction over rows, or the random
// state.
bool is_gathered(hlo::Value value, int64_t rows);

// Returns whether every result of the step has `rows` rows or is gathered over rows, and each row
// depends on the same row of the values for which `inside` holds.
bool works_by_rows(const hlo::Instruction& step, int64_t rows,
                   const std::function<bool(hlo::Value)>& inside);

// Returns whether an instruction has the value as an operand.
bool is_used(hlo::Value value);

// Returns whether the instruction is a fusion of steps that work by the same rows. Its region holds
// the steps in order, fusions among them.
bool is_row_fusion(const hlo::Instruction& instruction);
// REQUIRES: is_row_fusion(fusion).
int64_t rows_of_fusion(const hlo::Instruction& fusion);

}  // namespace systole::cpu
