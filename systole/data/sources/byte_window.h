// A sliding window over a stream, for readers of records.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "systole/io/wire/compression.h"

namespace systole::data {

// fill() grows it at its end, take() shrinks it at its start. Not thread-safe.
class ByteWindow {
 public:
  // Reads `chunk` bytes at a time.
  ByteWindow(std::unique_ptr<ByteSource> source, size_t chunk)
      : source_(std::move(source)), chunk_(chunk) {}

  // Returns the bytes read and not taken yet. Valid until the next non-const call.
  std::string_view bytes() const { return std::string_view(buffer_).substr(begin_); }
  void take(size_t count) { begin_ += count; }
  // Reads more bytes. Returns false at the end of the stream.
  bool fill();
  // The position of bytes() in the stream.
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
