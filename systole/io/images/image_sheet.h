// A sheet of thumbnails.
#pragma once

#include <cstdint>

#include "systole/base/tensor.h"

namespace systole {

// Collects images in a sheet of columns x rows cells. Not thread-safe.
class ImageSheet {
 public:
  explicit ImageSheet(int64_t columns = 16, int64_t rows = 10, int64_t cell = 64);

  bool full() const { return static_cast<int64_t>(used_) == columns_ * rows_; }
  bool empty() const { return used_ == 0; }
  // Adds an image, u8 [height, width, 1 or 3], scaled to fit its cell. REQUIRES: not full().
  void add(const Tensor& image);
  // Returns the rows with images as u8 [height, width, 3].
  Tensor sheet() const;

 private:
  int64_t columns_;
  int64_t rows_;
  int64_t cell_;
  int64_t used_ = 0;
  Tensor pixels_;
};

}  // namespace systole
