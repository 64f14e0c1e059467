// Rows of the Unified Buffer.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace systole::tpu_v1 {

// Gives out ranges of rows, the first gap that is large enough, and takes them back. Not
// thread-safe.
class BufferAllocator {
 public:
  explicit BufferAllocator(int64_t rows);

  // Returns the first row of a range; nullopt if no gap is large enough.
  std::optional<int64_t> allocate(int64_t rows);
  // REQUIRES: `first` is of a range that was allocated and not freed.
  void free(int64_t first);

 private:
  std::map<int64_t, int64_t> gaps_;  // first row -> rows, never adjacent
  std::map<int64_t, int64_t> used_;
};

}  // namespace systole::tpu_v1
