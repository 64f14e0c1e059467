// Analysis for row fusion. A thunk works by rows if its arrays split into the same number of equal,
// contiguous parts (rows) and each row of its results depends only on the same row of its operands.
// Such thunks can run in sequence over a few rows at a time, which stay in a cache.
#pragma once

#include <functional>
#include <optional>

#include "systole/backends/cpu/analysis/element_access.h"

namespace systole::cpu {

// Returns the number of rows that the thunk requires: of a reduction, the leading axes that it
// keeps; of random bits, the axes before the last; of select_and_scatter, the leading axes with
// windows of size 1; of a product, the axes of its result that row_dot() takes for rows. Returns
// nullopt for other thunks.
std::optional<int64_t> rows_of_thunk(const hlo::Instruction& thunk);

// Returns whether the reduction's operation has an identity, so that it can be split into parts.
bool has_identity(const hlo::Instruction& reduction);
// Returns whether the thunk reduces over all rows, in any order.
bool gathers_rows(const hlo::Instruction& thunk, int64_t rows);
// Returns whether the value is complete only after all rows: a reduction over rows, or the random
// state.
bool is_gathered(hlo::Value value, int64_t rows);

// Returns whether every result of the thunk has `rows` rows or is gathered over rows, and each row
// depends on the same row of the values for which `inside` holds.
bool works_by_rows(const hlo::Instruction& thunk, int64_t rows,
                   const std::function<bool(hlo::Value)>& inside);

// Returns whether an instruction has the value as an operand.
bool is_used(hlo::Value value);

// Returns whether the instruction is a fusion of thunks that work by the same rows. Its region
// holds the thunks in order, fusions among them.
bool is_row_fusion(const hlo::Instruction& instruction);
// REQUIRES: is_row_fusion(fusion).
int64_t rows_of_fusion(const hlo::Instruction& fusion);

}  // namespace systole::cpu
