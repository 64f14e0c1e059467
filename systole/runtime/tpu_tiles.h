// How a TPU stores arrays: in tiles of 8 x 128 words of 32 bits.
#pragma once

#include "systole/base/shape.h"

namespace systole::runtime {

// Returns the bytes of an array on a TPU. The tiles cover the two dimensions that need the least
// padding; an array of one dimension is padded to 128 elements. REQUIRES: a static shape. Source:
// Cloud TPU performance guide.
int64_t padded_bytes(const TensorType& type);

}  // namespace systole::runtime
