// Forward convolutions, and input gradients that are written as forward convolutions.
#pragma once

#include <memory>

#include "systole/backends/cpu/kernels/direct_sizes.h"
#include "systole/backends/cpu/kernels/run_context.h"

namespace systole::cpu {

// Returns whether the output features fill whole panels and few columns are computed twice. The
// kernel is fast only then.
bool fits_direct_forward(const DirectSizes& sizes);
// Buffers: images, kernel, output. REQUIRES: fits_direct_forward, host_has_direct_kernels.
std::unique_ptr<Kernel> make_direct_forward_kernel(const DirectSizes& sizes);

}  // namespace systole::cpu
