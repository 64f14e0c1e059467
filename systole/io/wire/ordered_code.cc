#include "systole/io/wire/ordered_code.h"

#include <array>
#include <bit>

namespace systole {

void append_ordered_number(std::string& out, uint64_t value) {
  const int size = (std::bit_width(value) + 7) / 8;
  out += static_cast<char>(size);
  for (int i = size - 1; i >= 0; --i) out += static_cast<char>(value >> (8 * i));
}

void append_ordered_text(std::string& out, std::string_view text) {
  for (const char c : text) {
    out += c;
    if (c == '\0') out += '\xff';
    if (c == '\xff') out += '\0';
  }
  out += '\0';
  out += '\1';
}

void append_ordered_signed(std::string& out, int64_t value) {
  constexpr size_t kMaxBytes = 10;
  const auto bits = static_cast<uint64_t>(value);
  const auto magnitude = value < 0 ? ~bits : bits;
  const size_t size = 1 + static_cast<size_t>(std::bit_width(magnitude)) / 7;
  const auto sign = static_cast<unsigned char>(value < 0 ? 0xff : 0);
  std::array<unsigned char, kMaxBytes> bytes{sign, sign};
  for (size_t i = 0; i < 8; ++i) bytes[2 + i] = static_cast<unsigned char>(bits >> (56 - 8 * i));
  unsigned char* const begin = bytes.data() + kMaxBytes - size;
  // The header: as many one bits as bytes, over the sign bits.
  const unsigned header = (0xffffU << (16 - size)) & 0xffffU;
  begin[0] = static_cast<unsigned char>(begin[0] ^ (header >> 8U));
  if (size > 1) begin[1] = static_cast<unsigned char>(begin[1] ^ (header & 0xffU));
  out.append(begin, begin + size);
}

}  // namespace systole
