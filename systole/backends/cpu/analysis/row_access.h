// Steps that work row by row: the arrays they make and those they read fall into as many equal
// parts, the rows, and a row of the results is made of the same row of what they read. Several such
// steps can run one behind the other over some rows at a time, which stay in a cache.
#pragma once

#include <functional>
#include <optional>

#include "systole/backends/cpu/analysis/element_access.h"

namespace systole::cpu {

// The rows of a step that ends in reductions: every row is reduced for itself. None for other
// steps.
std::optional<int64_t> reduced_rows(const hlo::Instruction& step);

// All results of the step have `rows` rows, and its loops take them one by one; of the values for
// which `inside` holds a row is made of the same row.
bool works_by_rows(const hlo::Instruction& step, int64_t rows,
                   const std::function<bool(hlo::Value)>& inside);

// A fusion of steps that all work by the same rows: its region holds the steps (fusions among
// them), in order, and at least one of them reduces.
bool is_row_fusion(const hlo::Instruction& instruction);
// REQUIRES: is_row_fusion(fusion).
int64_t rows_of_fusion(const hlo::Instruction& fusion);

}  // namespace systole::cpu
