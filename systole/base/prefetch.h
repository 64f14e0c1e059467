// Memory that is read soon.
#pragma once

#include <algorithm>
#include <cstddef>

namespace systole {

// Asks for the first kilobyte of [begin, begin + size) to be on its way to the caches: what a
// shuffle leaves all over the memory is slow to come when its turn is there.
inline void prefetch_bytes(const void* begin, size_t size) {
  constexpr size_t kLine = 64;
  constexpr size_t kMax = 16 * kLine;
  const auto* const bytes = static_cast<const std::byte*>(begin);
  for (size_t i = 0; i < std::min(size, kMax); i += kLine) __builtin_prefetch(bytes + i);
}

}  // namespace systole
