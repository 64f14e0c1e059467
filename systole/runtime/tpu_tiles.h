// How a TPU stores arrays: in tiles of 8 x 128 words of 32 bits.
#pragma once

#include <cstdint>

#include "systole/base/shape.h"

namespace systole::runtime {

inline constexpr int64_t kTpuLanes = 128;
inline constexpr int64_t kTpuSublanes = 8;  // of words; of smaller elements as many more

// Returns the least multiple that is not less than n >= 0.
constexpr int64_t round_up(int64_t n, int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

// Returns the bytes of an array on a TPU. The tiles cover the two dimensions that need the least
// padding; an array of one dimension is padded to 128 elements. REQUIRES: a static shape. Source:
// Cloud TPU performance guide.
int64_t padded_bytes(const TensorType& type);
// The same, and 0 for a dynamic shape: for models of programs (hlo/semantics/cost.h).
double tile_bytes(const TensorType& type);

}  // namespace systole::runtime
