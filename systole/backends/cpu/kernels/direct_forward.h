// Forward convolutions, and what is written as one.
#pragma once

#include <memory>

#include "systole/backends/cpu/kernels/direct_sizes.h"
#include "systole/backends/cpu/kernels/run_context.h"

namespace systole::cpu {

// Whole panels of output features, and few columns computed twice: what the kernel is fast for.
bool fits_direct_forward(const DirectSizes& sizes);
// Buffers: images, kernel, output. REQUIRES: fits_direct_forward, host_has_direct_kernels.
std::unique_ptr<Kernel> make_direct_forward_kernel(const DirectSizes& sizes);

}  // namespace systole::cpu
