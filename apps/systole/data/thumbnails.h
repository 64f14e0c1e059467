// A sheet of the images in records, to look at.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "systole/base/tensor.h"
#include "systole/io/example.h"

namespace systole::app {

// The image of an Example: its first feature of JPEG or PNG bytes, or pixels (image_raw, or the one
// bytes feature that fits) with height, width and depth as features, or as many as a square has; of
// floats too. u8 [height, width, 1 or 3]. Nothing when there is none.
std::optional<Tensor> image_of(const ExampleView& example);

// Collects images into a sheet of columns x rows cells. Not thread-safe.
class ThumbnailSheet {
 public:
  explicit ThumbnailSheet(int64_t columns = 16, int64_t rows = 10, int64_t cell = 64);

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

}  // namespace systole::app
