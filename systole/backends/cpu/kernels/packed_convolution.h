// oneDNN's convolutions of channels-last images, with kernels that all threads pack.
#pragma once

#include <memory>

#include "systole/backends/cpu/kernels/direct_sizes.h"
#include "systole/backends/cpu/kernels/run_context.h"

namespace systole::cpu {

// Whether a forward convolution with a kernel that is packed here is as fast as any other code.
// Measured: for the gradient by images it is up to 1.2 times as fast as code that was made for it,
// but for images that are narrow or have few features.
bool packing_pays(ConvolutionProblem::Form form, const DirectSizes& sizes);

// The forward convolution of these sizes. Buffers: images, kernel, output. Null where oneDNN would
// not have its kernel in blocks of output features (kernel_packing.h). Errors: INTERNAL with
// oneDNN's message.
std::unique_ptr<Kernel> make_packed_convolution_kernel(const DirectSizes& sizes, int num_threads);

}  // namespace systole::cpu
