// Bilinear resizing of images that become smaller, with vector instructions.
#pragma once

#include <cstdint>
#include <vector>

#include "systole/graph/ops/image/image_resize.h"

namespace systole {

// Images of bytes, [height, width, channels]. Rows of an image that becomes smaller are rarely used
// twice: the two that a row of the result is made of are gone through together, and no row is kept.
// The results are those of any other order of pixels, bit for bit. Not thread-safe.
class BilinearPairs {
 public:
  // Whether it can, on this machine, and is worth it.
  static bool takes(const ResizeAxes& axes, int64_t height, int64_t width, int64_t channels);

  // `axes` outlives it. Without `wide` the longest vectors are not used. REQUIRES: takes().
  BilinearPairs(const ResizeAxes& axes, int64_t width, int64_t channels, bool wide = true);
  void run(const uint8_t* image, float* out);

  // Neighbouring numbers of a row of the result, as many as a vector has lanes, or fewer: they are
  // made of bytes of the image's row that lie in one window, which is as long as the vector.
  struct Step {
    int32_t from;  // the window's first byte
    int32_t to;    // the first number
  };
  // Of sixteen lanes of the steps: where in the window their bytes are, and the fraction between.
  struct alignas(64) Lanes {
    uint32_t left[16];
    uint32_t right[16];
    float fractions[16];
  };

 private:
  void add_steps();
  int64_t add_step(Step step);

  const ResizeAxes& axes_;
  const int64_t row_bytes_;
  const int64_t channels_;
  const int64_t numbers_;     // in a row of the result
  const int64_t step_lanes_;  // 16, or 4 of shorter vectors
  // Of a row. What is written behind a step's numbers is overwritten by the next.
  std::vector<Step> steps_;
  std::vector<Lanes> lanes_;
  std::vector<float> row_;  // for rows behind which there is no room to write
};

}  // namespace systole
