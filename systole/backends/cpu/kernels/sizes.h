// Arithmetic of sizes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "systole/base/shape.h"

namespace systole::cpu {

// Converts to the standard library's index type.
inline size_t u(int64_t i) { return static_cast<size_t>(i); }

inline bool all_ones(std::span<const int64_t> sizes) {
  return std::ranges::all_of(sizes, [](int64_t size) { return size == 1; });
}

// Returns the product of the sizes of these axes.
inline int64_t product(const Shape& shape, const Dims& axes) {
  int64_t result = 1;
  for (const int64_t axis : axes) result *= shape[static_cast<int>(axis)];
  return result;
}

// Alignment of results and temporaries, in bytes: a cache line.
inline constexpr int64_t kAlignment = 64;
inline bool is_aligned(const void* p) { return reinterpret_cast<uintptr_t>(p) % kAlignment == 0; }
inline int64_t aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace systole::cpu
