// Products of a few rows by a matrix, such as the dense layers of one example: they take the time
// of reading the matrix. On hosts with AVX-512.
#pragma once

#include <cstdint>
#include <memory>

#include "systole/backends/cpu/kernels/run_context.h"

namespace systole::cpu {

// [rows, depth] by [depth, columns], all f32. Steps in elements from row to row, and of the left
// operand from column to column; the matrix's and the result's columns lie side by side.
struct FewRowsDot {
  int64_t rows, depth, columns;
  int64_t lhs_row, lhs_column;
  int64_t rhs_row;
  int64_t result_row;
};

// Buffers: lhs, rhs, result. The matrix is read once, as it lies in memory, by pieces of its rows
// that threads share; their sums are added up in the order of the pieces, which depend on the sizes
// alone. Returns null for more rows than kMaxFewRows and on hosts without AVX-512.
inline constexpr int64_t kMaxFewRows = 4;
std::unique_ptr<Kernel> make_few_rows_kernel(const FewRowsDot& dot);

}  // namespace systole::cpu
