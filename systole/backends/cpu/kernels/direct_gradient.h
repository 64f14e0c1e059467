// Gradients of convolutions with respect to their kernels.
#pragma once

#include <memory>

#include "systole/backends/cpu/kernels/direct_sizes.h"
#include "systole/backends/cpu/kernels/run_context.h"

namespace systole::cpu {

// The batch is split into at most this many parts with their own sums. It limits the number of
// threads that have work.
inline constexpr int64_t kMaxGradientParts = 16;

// Returns whether the output features fill whole panels and the kernel is small enough for each
// part of the batch to have its own sums.
bool fits_direct_gradient(const DirectSizes& sizes);
// Buffers: images, the output's gradient, the kernel's gradient. REQUIRES: fits_direct_gradient,
// host_has_direct_kernels.
std::unique_ptr<Kernel> make_direct_gradient_kernel(const DirectSizes& sizes);

}  // namespace systole::cpu
