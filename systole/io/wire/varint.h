// Varints: seven bits a byte, the least significant first, the top bit set on all but the last.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace systole {

// Takes one off the front of `bytes`; nothing, and `bytes` unspecified, when there is none of at
// most 64 bits.
inline std::optional<uint64_t> read_varint64(std::string_view& bytes) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    if (shift == 63 && byte > 1) return std::nullopt;
    value |= uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

inline void append_varint64(std::string& bytes, uint64_t value) {
  for (; value >= 0x80; value >>= 7U) bytes += static_cast<char>(value | 0x80U);
  bytes += static_cast<char>(value);
}

}  // namespace systole
