// Bilinear resizing of images that become smaller, with vector instructions.
#pragma once

#include <cstdint>
#include <vector>

#include "systole/graph/image_resize.h"

namespace systole {

// Images of bytes, [height, width, channels]. Rows of an image that becomes smaller are rarely used
// twice: the two that a row of the result is made of are gone through together, and no row is kept.
// The results are those of any other order of pixels, bit for bit. Not thread-safe.
class BilinearPairs {
 public:
  // Whether it can, on this machine, and is worth it.
  static bool takes(const ResizeAxes& axes, int64_t height, int64_t width, int64_t channels);

  // `axes` outlives it. REQUIRES: takes().
  BilinearPairs(const ResizeAxes& axes, int64_t height, int64_t width, int64_t channels);
  void run(const uint8_t* image, float* out);

 private:
  const uint8_t* row(const uint8_t* image, int64_t y);
  void find_neighbours();

  const ResizeAxes& axes_;
  const int64_t height_;
  const int64_t row_bytes_;
  const int64_t channels_;
  std::vector<int32_t> left_;  // of a pixel, its bytes in a row
  std::vector<int32_t> right_;
  // Pixels of the result, [begin, end), that are made of two neighbours in the image.
  int64_t neighbours_begin_ = 0;
  int64_t neighbours_end_ = 0;
  std::vector<float> fractions_;   // of a pixel, for each of its lanes
  std::vector<uint8_t> last_row_;  // with room for what is read behind its end
};

}  // namespace systole
