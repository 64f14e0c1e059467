// Prefetching of memory.
#pragma once

#include <algorithm>
#include <cstddef>

namespace systole {

// Prefetches the first kilobyte of [begin, begin + size). Shuffled elements are scattered in
// memory; without a prefetch each read stalls.
inline void prefetch_bytes(const void* begin, size_t size) {
  constexpr size_t kLine = 64;
  constexpr size_t kMax = 16 * kLine;
  const auto* const bytes = static_cast<const std::byte*>(begin);
  for (size_t i = 0; i < std::min(size, kMax); i += kLine) __builtin_prefetch(bytes + i);
}

}  // namespace systole
