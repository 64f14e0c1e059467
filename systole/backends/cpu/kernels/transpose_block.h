// Transposes of the pieces of an array that a thread works on at a time.
#pragma once

#include <cstdint>

namespace systole::cpu {

// A matrix whose rows lie `from_step` elements apart, and its transpose, whose rows lie `to_step`
// apart.
struct TransposedBlock {
  const void* from;
  int64_t from_step;
  int64_t rows, columns;
  void* to;
  int64_t to_step;
};

// to[j][i] = from[i][j]. Elements have 1, 2, 4, 8 or 16 bytes. With `streamed`, whole lines of the
// result that start with a line of memory bypass the caches: end_streams() (stream.h) orders them.
// On hosts with AVX-512 a line is written at a time.
void transpose_block(const TransposedBlock& block, int64_t element_bytes, bool streamed);

}  // namespace systole::cpu
