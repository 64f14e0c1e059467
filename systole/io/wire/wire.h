// Protobuf's wire format, read in place and written directly, for messages too many for protobuf
// objects.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "systole/base/error.h"

namespace systole::wire {

enum class Type : uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

// Iterates over the fields of one message. Errors: INVALID_ARGUMENT for bytes that are not fields,
// with the byte counted from `base`.
class Reader {
 public:
  Reader(std::string_view message, const char* base)
      : at_(message.data()), end_(message.data() + message.size()), base_(base) {}
  explicit Reader(std::string_view message) : Reader(message, message.data()) {}

  // Advances to the next field and reads its number and type. Returns false at the end.
  bool next() {
    if (at_ == end_) return false;
    const char* begin = at_;
    const uint64_t tag = varint();
    number_ = static_cast<uint32_t>(tag >> 3);
    type_ = static_cast<Type>(tag & 7);
    if (tag >= 8 && tag <= 0xffffffffU) return true;
    at_ = begin;
    fail("a field number");
  }
  uint32_t number() const { return number_; }
  Type type() const { return type_; }
  bool is(uint32_t number, Type type) const { return number_ == number && type_ == type; }
  // The position of the next value or field.
  const char* at() const { return at_; }

  // Reads the value of the field that next() found. Call once, the method of its type.
  uint64_t varint() {
    if (at_ != end_ && static_cast<signed char>(*at_) >= 0) {
      return static_cast<unsigned char>(*at_++);
    }
    return long_varint();
  }
  std::string_view bytes() {
    const uint64_t size = varint();
    if (size > static_cast<uint64_t>(end_ - at_)) fail("fewer bytes than that");
    at_ += size;
    return {at_ - size, static_cast<size_t>(size)};
  }
  uint32_t fixed32() {
    uint32_t value = 0;
    if (end_ - at_ < 4) fail("4 bytes");
    std::memcpy(&value, at_, sizeof(value));
    at_ += 4;
    return value;
  }
  void skip();

 private:
  uint64_t long_varint();
  [[noreturn]] void fail(std::string_view expected) const;

  const char* at_;
  const char* end_;
  const char* base_;
  uint32_t number_ = 0;
  Type type_ = Type::varint;
};

// Appends a field of bytes: a string or a message.
void append_bytes(std::string& out, uint32_t number, std::string_view bytes);

}  // namespace systole::wire
