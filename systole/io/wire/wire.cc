#include "systole/io/wire/wire.h"

#include "systole/io/wire/varint.h"

namespace systole::wire {

uint64_t Reader::long_varint() {
  std::string_view rest(at_, static_cast<size_t>(end_ - at_));
  const std::optional<uint64_t> value = read_varint64(rest);
  const bool too_long = rest.data() - at_ == kMaxVarintBytes;
  at_ = rest.data();
  if (!value) fail(too_long ? "a number of at most 10 bytes" : "the rest of a number");
  return *value;
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

void append_bytes(std::string& out, uint32_t number, std::string_view bytes) {
  append_varint64(out, uint64_t{number} << 3 | static_cast<uint64_t>(Type::bytes));
  append_varint64(out, bytes.size());
  out += bytes;
}

}  // namespace systole::wire
