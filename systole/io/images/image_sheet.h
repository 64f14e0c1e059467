// Small images side by side in one, to look at.
#pragma once

#include <cstdint>

#include "systole/base/tensor.h"

namespace systole {

// Collects images into a sheet of columns x rows cells. Not thread-safe.
class ImageSheet {
 public:
  explicit ImageSheet(int64_t columns = 16, int64_t rows = 10, int64_t cell = 64);

  bool full() const { return static_cast<int64_t>(used_) == columns_ * rows_; }
  bool empty() const { return used_ == 0; }
  // u8 [height, width, 1 or 3]; enlarged or reduced to fit its cell. REQUIRES: not full().
  void add(const Tensor& image);
  // u8 [height, width, 3] of the rows that are used.
  Tensor sheet() const;

 private:
  int64_t columns_;
  int64_t rows_;
  int64_t cell_;
  int64_t used_ = 0;
  Tensor pixels_;
};

}  // namespace systole
