// Varints (LEB128): seven bits a byte, the least significant first, the top bit set on all but the
// last byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace systole {

inline constexpr size_t kMaxVarintBytes = 10;

// Removes a varint from the front of `bytes`. Drops the bits from the 65th on, as protobuf does.
// Returns nullopt if no byte ends it, among all or among the first kMaxVarintBytes; these bytes are
// removed then.
inline std::optional<uint64_t> read_varint64(std::string_view& bytes) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 7 * kMaxVarintBytes && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
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
