// Products of batches of small matrices, some rows at a time: the products of an attention, between
// which the rows of the scores stay in a cache.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "systole/backends/cpu/kernels/run_context.h"
#include "systole/hlo/ir/module.h"

namespace systole::cpu {

// A product in which a row of the result is computed from one row of the left operand and one
// matrix of the right operand. Rows run along the batch axes, then along the left operand's others.
struct RowDot {
  int64_t rows = 0;         // of the result
  int64_t matrix_rows = 0;  // that share a matrix of the right operand
  int64_t columns = 0;      // elements of a row of the result
  int64_t depth = 0;        // elements of a row of the left operand
  // Whether the left operand's rows lie one behind the other, as those of the result do.
  bool lhs_in_rows = false;
};

// Returns nullopt for an instruction that is no such product of f32 or bf16, for one without batch
// axes, and for matrices that do not stay in a cache or cannot be read in place.
std::optional<RowDot> row_dot(const hlo::Instruction& instruction);

// Buffers: the left operand, from its first row or with `lhs_begins` from row `begin` on; the right
// operand; the result, from row `begin` on; `begin` and `end`, numbers as addresses. Computes these
// rows on the calling thread. REQUIRES: row_dot(dot).
std::unique_ptr<Kernel> make_row_dot_kernel(const hlo::Instruction& dot, bool lhs_begins);

}  // namespace systole::cpu
