// Transposes squares of 16 by 16 elements of 32 bits in registers.
#pragma once

#include <cstdint>

namespace systole::cpu {

inline constexpr int64_t kWideSide = 16;

// Returns whether the host has registers for such squares.
bool host_has_wide_squares();

// to[j * to_stride + i] = from[i * stride + j] for i, j < 16, in elements. REQUIRES:
// host_has_wide_squares().
void transpose_wide_square(const uint32_t* from, int64_t stride, uint32_t* to, int64_t to_stride);
// As above, bypassing the caches (stream.h). REQUIRES: `to` and `to_stride` are multiples of a
// line.
void stream_wide_square(const uint32_t* from, int64_t stride, uint32_t* to, int64_t to_stride);

}  // namespace systole::cpu
