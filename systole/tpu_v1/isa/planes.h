// 16-bit elements as the Unified Buffer and ports hold them: a row of low bytes, a row of high
// bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace systole::tpu_v1 {

// Copies little-endian 16-bit elements to rows of `row_bytes` bytes, and back. REQUIRES: equal
// sizes, which are multiples of row_bytes; row_bytes is even.
inline void to_planes(std::span<const uint8_t> elements, size_t row_bytes,
                      std::span<uint8_t> planes) {
  for (size_t i = 0; i < elements.size(); ++i) {
    const size_t place = i % row_bytes;
    planes[i - place + place / 2 + place % 2 * (row_bytes / 2)] = elements[i];
  }
}
inline void from_planes(std::span<const uint8_t> planes, size_t row_bytes,
                        std::span<uint8_t> elements) {
  for (size_t i = 0; i < planes.size(); ++i) {
    const size_t place = i % row_bytes;
    elements[i] = planes[i - place + place / 2 + place % 2 * (row_bytes / 2)];
  }
}

}  // namespace systole::tpu_v1
