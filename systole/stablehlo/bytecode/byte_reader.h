// A cursor over the bytes of a bytecode file. Every read is checked against the end.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "systole/base/error.h"

namespace systole::hlo::bytecode {

// Errors of all reads: INVALID_ARGUMENT `<file>: byte <offset>: <what>, got <value>, expected
// <value>`.
class ByteReader {
 public:
  // `bytes` are those of the file from `offset` on. Both views must outlive the reader.
  ByteReader(std::string_view bytes, std::string_view file, size_t offset = 0)
      : bytes_(bytes), file_(file), begin_(offset) {}

  bool empty() const { return position_ == bytes_.size(); }
  size_t remaining() const { return bytes_.size() - position_; }
  // From the start of the file.
  size_t offset() const { return begin_ + position_; }
  std::string_view file() const { return file_; }

  uint8_t byte(std::string_view what);
  uint64_t varint(std::string_view what);
  int64_t signed_varint(std::string_view what);
  // Returns the value and the flag in its lowest bit.
  std::pair<uint64_t, bool> flagged(std::string_view what);
  // A varint below `limit`.
  uint64_t index(size_t limit, std::string_view what);
  // The number of things of which each takes at least one byte.
  size_t count(std::string_view what);
  std::string_view bytes(uint64_t size, std::string_view what);
  // A string with a final zero, which is not returned.
  std::string_view c_string(std::string_view what);
  // A reader of the next `size` bytes, which this one skips.
  ByteReader part(uint64_t size, std::string_view what);

  // Errors: INVALID_ARGUMENT unless all bytes were read.
  void expect_end(std::string_view what) const;

  template <class... Args>
  Error error(fmt::format_string<Args...> format, Args&&... args) const {
    return error_at(offset(), fmt::format(format, std::forward<Args>(args)...));
  }
  Error error_at(size_t offset, std::string_view message) const;

 private:
  Error ended(std::string_view what, uint64_t wanted) const;

  std::string_view bytes_;
  std::string_view file_;
  size_t begin_;
  size_t position_ = 0;
};

}  // namespace systole::hlo::bytecode
