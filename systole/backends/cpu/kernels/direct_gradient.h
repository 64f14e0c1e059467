// Gradients of convolutions by their kernels.
#pragma once

#include <memory>

#include "systole/backends/cpu/kernels/direct_sizes.h"
#include "systole/backends/cpu/kernels/run_context.h"

namespace systole::cpu {

// Parts of the batch that have sums of their own, and so the threads that have work.
inline constexpr int64_t kMaxGradientParts = 16;

// Whole panels of output features, and a kernel so small that each part of the batch can have sums
// of its own.
bool fits_direct_gradient(const DirectSizes& sizes);
// Buffers: images, the output's gradient, the kernel's gradient. REQUIRES: fits_direct_gradient,
// host_has_direct_kernels.
std::unique_ptr<Kernel> make_direct_gradient_kernel(const DirectSizes& sizes);

}  // namespace systole::cpu
