// Concatenations: each row of the result is a row of every operand, one after the other.
#pragma once

#include <memory>
#include <vector>

#include "systole/backends/cpu/kernels/run_context.h"

namespace systole::cpu {

// Rows of `row_bytes` in the result, whose bytes from `offset` on are consecutive pieces, one of
// each operand. Operand i has the same rows, of pieces[i] bytes.
struct JoinedRows {
  int64_t rows = 1;
  int64_t row_bytes = 0;
  int64_t offset = 0;
  std::vector<int64_t> pieces;
  bool streamed = false;  // the result bypasses the caches
};

// Buffers: result, operands.
std::unique_ptr<Kernel> make_join_kernel(JoinedRows joined);

}  // namespace systole::cpu
