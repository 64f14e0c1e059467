// Bilinear downscaling of images with vector instructions.
#pragma once

#include <cstdint>
#include <vector>

#include "systole/graph/ops/image/image_resize.h"

namespace systole {

// Resizes images of bytes, [height, width, channels]. Reads the two source rows of each output row
// together and caches no row, since a downscaled image rarely uses a row twice. Results equal those
// of the scalar code, bit for bit. Not thread-safe.
class BilinearPairs {
 public:
  // Whether this machine supports it and it is faster than the scalar code.
  static bool takes(const ResizeAxes& axes, int64_t height, int64_t width, int64_t channels);

  // Borrows `axes`. `wide`: use the longest vectors of the machine. REQUIRES: takes().
  BilinearPairs(const ResizeAxes& axes, int64_t width, int64_t channels, bool wide = true);
  void run(const uint8_t* image, float* out);

  // Adjacent elements of an output row, at most one vector. Their source bytes lie in one window of
  // the length of a vector.
  struct Step {
    int32_t from;  // first byte of the window
    int32_t to;    // first output element
  };
  // For sixteen lanes: offsets of the two source bytes in the window, and the weight between them.
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
  const int64_t numbers_;     // elements of an output row
  const int64_t step_lanes_;  // 16, or 4 with shorter vectors
  // For one row. The next step overwrites lanes that a step writes past its elements.
  std::vector<Step> steps_;
  std::vector<Lanes> lanes_;
  std::vector<float> row_;  // output of rows without room after them
};

}  // namespace systole
