#include "systole/tpu_v1/compiler/buffer_allocator.h"

namespace systole::tpu_v1 {

BufferAllocator::BufferAllocator(int64_t rows) { gaps_[0] = rows; }

std::optional<int64_t> BufferAllocator::allocate(int64_t rows) {
  for (auto gap = gaps_.begin(); gap != gaps_.end(); ++gap) {
    if (gap->second < rows) continue;
    const int64_t first = gap->first;
    const int64_t left = gap->second - rows;
    gaps_.erase(gap);
    if (left > 0) gaps_[first + rows] = left;
    used_[first] = rows;
    return first;
  }
  return std::nullopt;
}

void BufferAllocator::free(int64_t first) {
  const auto found = used_.find(first);
  int64_t rows = found->second;
  used_.erase(found);
  const auto after = gaps_.lower_bound(first);
  if (after != gaps_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == first) {
      before->second += rows;
      first = before->first;
      rows = before->second;
    }
  }
  if (after != gaps_.end() && first + rows == after->first) {
    rows += after->second;
    gaps_.erase(after);
  }
  gaps_[first] = rows;
}

}  // namespace systole::tpu_v1
