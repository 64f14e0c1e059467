// oneDNN convolutions of channels-last images whose kernels all threads pack.
#pragma once

#include <memory>

#include "systole/backends/cpu/kernels/direct_sizes.h"
#include "systole/backends/cpu/kernels/run_context.h"

namespace systole::cpu {

// Returns whether a forward convolution with a kernel packed here is as fast as the alternatives.
// As an input gradient it is up to 1.2 times as fast, except for images that are narrow or have few
// features.
bool packing_pays(ConvolutionProblem::Form form, const DirectSizes& sizes);

// Buffers: images, kernel, output. Returns null if oneDNN does not accept the kernel in blocks of
// output features (kernel_packing.h). Errors: INTERNAL with oneDNN's message.
std::unique_ptr<Kernel> make_packed_convolution_kernel(const DirectSizes& sizes, int num_threads);

}  // namespace systole::cpu
