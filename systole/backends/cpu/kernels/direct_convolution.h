// A kernel of this backend for convolutions of f32 images with one or two features.
#pragma once

#include <memory>

#include "systole/backends/cpu/kernels/convolution_problem.h"
#include "systole/backends/cpu/kernels/run_context.h"

namespace systole::cpu {

// Buffers: input, kernel, result. Channels last. Sums of one feature leave oneDNN's matrix products
// almost nothing to do: this kernel is 1.15 times as fast (conv.f32.mnist_1.forward). Returns null
// for other convolutions, where this host lacks AVX-512, and where there are more threads than
// images. The order of summation does not depend on the number of threads.
std::unique_ptr<Kernel> make_direct_convolution_kernel(const ConvolutionProblem& problem,
                                                       int num_threads);

// Returns whether the host has AVX-512.
bool host_has_direct_convolution();

}  // namespace systole::cpu
