// Arrays with a border of one value.
#pragma once

#include <memory>
#include <vector>

#include "systole/backends/cpu/kernels/run_context.h"

namespace systole::cpu {

// One axis of the result: the elements [low, low + count) are those of the operand from `first` on.
struct PaddedAxis {
  int64_t size;
  int64_t low;
  int64_t count;
  int64_t first;         // in the operand
  int64_t operand_size;  // elements of the operand along the axis
};

// Axes outermost first. Buffers: result, operand, the value of the border. Returns null without
// axes, and if the elements along the innermost axis with a border, and inside it, take more than
// 16 KiB. With `streamed`, the result bypasses the caches. REQUIRES: sizes and counts of at
// least 1.
std::unique_ptr<Kernel> make_pad_kernel(std::vector<PaddedAxis> axes, int64_t element_bytes,
                                        bool streamed);

}  // namespace systole::cpu
