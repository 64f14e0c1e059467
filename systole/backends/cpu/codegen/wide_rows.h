// Reductions whose results are few and lie side by side, such as the sums over each of 8 channels.
#pragma once

#include "systole/backends/cpu/codegen/loop_nest.h"

namespace systole::cpu {

// Consecutive iterations of a reduced loop that are taken as one row: lane k * row.size + i is
// element i of iteration k. Every lane has accumulators of its own, so that rows of any size fill
// vectors.
struct WideRows {
  int64_t rows = 0;                           // iterations in one wide row
  std::vector<ElementAccess::Read> repeated;  // arrays of which each row reads the same elements
};

// Returns how to take iterations of `reduced` side by side, or nullopt if the rows of the kept loop
// `row` are wide as they are, or not side by side in memory. `forms` and `reads` are those of the
// elements that are reduced; variables from `num_variables` on are computed ones.
std::optional<WideRows> plan_wide_rows(const Loop& row, const Loop& reduced,
                                       std::span<const Affine> forms,
                                       std::span<const ElementAccess::Read> reads,
                                       int num_variables);

}  // namespace systole::cpu
