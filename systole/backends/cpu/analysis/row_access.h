// Steps that work row by row: the arrays they make and those they read fall into as many equal
// parts, the rows, and a row of the results is made of the same row of what they read. Several such
// steps can run one behind the other over some rows at a time, which stay in a cache.
#pragma once

#include <functional>
#include <optional>

#include "systole/backends/cpu/analysis/element_access.h"

namespace systole::cpu {

// The rows that a step asks for: those that its reductions reduce each for itself; of random bits,
// those along the last axis; of a select_and_scatter, those that no window leaves. None for other
// steps.
std::optional<int64_t> rows_of_step(const hlo::Instruction& step);

// The reduction's region is an operation that has an identity, so that it can be done in parts.
bool has_identity(const hlo::Instruction& reduction);
// The step reduces all rows to one, in an order that it leaves open.
bool gathers_rows(const hlo::Instruction& step, int64_t rows);
// A result that is there when the step is through with all rows: one of those reduced, the state of
// random numbers.
bool is_gathered(hlo::Value value, int64_t rows);

// All results of the step have `rows` rows (or are what it gathers), and its loops take them one by
// one; of the values for which `inside` holds a row is made of the same row.
bool works_by_rows(const hlo::Instruction& step, int64_t rows,
                   const std::function<bool(hlo::Value)>& inside);

// Some instruction takes the value as an operand.
bool is_used(hlo::Value value);

// A fusion of steps that all work by the same rows: its region holds the steps (fusions among
// them), in order, the first of which asks for the rows.
bool is_row_fusion(const hlo::Instruction& instruction);
// REQUIRES: is_row_fusion(fusion).
int64_t rows_of_fusion(const hlo::Instruction& fusion);

}  // namespace systole::cpu
