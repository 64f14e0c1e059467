#include "systole/stablehlo/bytecode/byte_reader.h"

#include <bit>

namespace systole::hlo::bytecode {

Error ByteReader::error_at(size_t offset, std::string_view message) const {
  return invalid_argument("{}: byte {}: {}", file_, offset, message);
}

Error ByteReader::ended(std::string_view what, uint64_t wanted) const {
  return error("{}, got {} bytes to the end, expected {}", what, remaining(), wanted);
}

uint8_t ByteReader::byte(std::string_view what) {
  if (empty()) throw ended(what, 1);
  return static_cast<uint8_t>(bytes_[position_++]);
}

std::string_view ByteReader::bytes(uint64_t size, std::string_view what) {
  if (size > remaining()) throw ended(what, size);
  const std::string_view result = bytes_.substr(position_, size);
  position_ += size;
  return result;
}

uint64_t ByteReader::varint(std::string_view what) {
  const uint8_t first = byte(what);
  // As many more bytes as there are zeros below the lowest one; 8 if there is none.
  const int more = first == 0 ? 8 : std::countr_zero(first);
  uint64_t value = more == 8 ? 0 : static_cast<uint64_t>(first) >> (more + 1);
  const std::string_view rest = bytes(static_cast<uint64_t>(more), what);
  int shift = more == 8 ? 0 : 7 - more;
  for (const char c : rest) {
    value |= static_cast<uint64_t>(static_cast<uint8_t>(c)) << shift;
    shift += 8;
  }
  return value;
}

int64_t ByteReader::signed_varint(std::string_view what) {
  const uint64_t value = varint(what);
  return static_cast<int64_t>((value >> 1) ^ (~(value & 1) + 1));
}

std::pair<uint64_t, bool> ByteReader::flagged(std::string_view what) {
  const uint64_t value = varint(what);
  return {value >> 1, (value & 1) != 0};
}

uint64_t ByteReader::index(size_t limit, std::string_view what) {
  const size_t begin = offset();
  const uint64_t value = varint(what);
  if (value < limit) return value;
  throw error_at(begin, fmt::format("{}, got index {}, expected one below {}", what, value, limit));
}

size_t ByteReader::count(std::string_view what) {
  const size_t begin = offset();
  const uint64_t value = varint(what);
  if (value <= remaining()) return static_cast<size_t>(value);
  throw error_at(
      begin, fmt::format("number of {}, got {}, expected at most the {} bytes that follow", what,
                         value, remaining()));
}

std::string_view ByteReader::c_string(std::string_view what) {
  const size_t end = bytes_.find('\0', position_);
  if (end == std::string_view::npos) throw error("{}, got no zero at its end, expected one", what);
  const std::string_view result = bytes_.substr(position_, end - position_);
  position_ = end + 1;
  return result;
}

ByteReader ByteReader::part(uint64_t size, std::string_view what) {
  const size_t begin = offset();
  return {bytes(size, what), file_, begin};
}

void ByteReader::expect_end(std::string_view what) const {
  if (!empty()) throw error("{}, got {} bytes after it, expected none", what, remaining());
}

}  // namespace systole::hlo::bytecode
