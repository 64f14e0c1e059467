// The part of a stream that a reader of records looks at.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "systole/io/wire/compression.h"

namespace systole::data {

// Grows at its end by reading on and shrinks at its begin by what was taken. Not thread-safe.
class ByteWindow {
 public:
  // Reads `chunk` bytes at a time.
  ByteWindow(std::unique_ptr<ByteSource> source, size_t chunk)
      : source_(std::move(source)), chunk_(chunk) {}

  // What was read and not taken yet. Valid until the next call that is not const.
  std::string_view bytes() const { return std::string_view(buffer_).substr(begin_); }
  void take(size_t count) { begin_ += count; }
  // False at the end of the stream.
  bool fill();
  // Where bytes() begins in the stream, and going there.
  uint64_t offset() const { return buffer_offset_ + begin_; }
  void seek(uint64_t offset);
  const std::string& path() const { return source_->path(); }

 private:
  std::unique_ptr<ByteSource> source_;
  const size_t chunk_;
  std::string buffer_;
  uint64_t buffer_offset_ = 0;  // of buffer_ in the stream
  size_t begin_ = 0;            // of bytes() in buffer_
};

}  // namespace systole::data
