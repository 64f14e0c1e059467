#include "systole/io/wire/wire.h"

namespace systole::wire {

uint64_t Reader::long_varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    if (at_ == end_) fail("the rest of a number");
    const auto byte = static_cast<unsigned char>(*at_++);
    value |= shift == 63 ? uint64_t{byte & 1U} << 63 : uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return value;
  }
  fail("a number of at most 10 bytes");
}

void Reader::skip() {
  switch (type_) {
    case Type::varint:
      (void)varint();
      return;
    case Type::fixed64:
      (void)fixed32();
      (void)fixed32();
      return;
    case Type::bytes:
      (void)bytes();
      return;
    case Type::fixed32:
      (void)fixed32();
      return;
  }
  fail("a field type of 0, 1, 2 or 5");
}

void Reader::fail(std::string_view expected) const {
  throw invalid_argument("message: byte {}, got {} more to the end of the message, expected {}",
                         at_ - base_, end_ - at_, expected);
}

void append_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void append_bytes(std::string& out, uint32_t number, std::string_view bytes) {
  append_varint(out, uint64_t{number} << 3 | static_cast<uint64_t>(Type::bytes));
  append_varint(out, bytes.size());
  out += bytes;
}

}  // namespace systole::wire
