#include "systole/data/sources/byte_window.h"

namespace systole::data {

bool ByteWindow::fill() {
  buffer_offset_ += begin_;
  buffer_.erase(0, begin_);
  begin_ = 0;
  const size_t had = buffer_.size();
  buffer_.resize(had + chunk_);
  buffer_.resize(had + source_->read(chunk_, buffer_.data() + had));
  return buffer_.size() > had;
}

void ByteWindow::seek(uint64_t offset) {
  source_->seek(offset);
  buffer_.clear();
  buffer_offset_ = offset;
  begin_ = 0;
}

}  // namespace systole::data
