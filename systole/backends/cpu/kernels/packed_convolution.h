// oneDNN's convolutions of channels-last images, with kernels that all threads pack.
#pragma once

#include <memory>

#include "systole/backends/cpu/kernels/direct_sizes.h"
#include "systole/backends/cpu/kernels/run_context.h"

namespace systole::cpu {

// The forward convolution of these sizes. Buffers: images, kernel, output. Null where oneDNN would
// not have its kernel in blocks of output features (kernel_packing.h). Errors: INTERNAL with
// oneDNN's message.
std::unique_ptr<Kernel> make_packed_convolution_kernel(const DirectSizes& sizes, int num_threads);

}  // namespace systole::cpu
