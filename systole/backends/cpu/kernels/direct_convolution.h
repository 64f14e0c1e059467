// Convolution kernels of this backend for channels-last f32 images.
#pragma once

#include <memory>

#include "systole/backends/cpu/kernels/convolution_problem.h"
#include "systole/backends/cpu/kernels/run_context.h"

namespace systole::cpu {

// Buffers: input, kernel, result. Returns null where oneDNN is as fast for channels-last images,
// where this host lacks AVX-512, and where there are more threads than tasks. The order of
// summation does not depend on the number of threads.
std::unique_ptr<Kernel> make_direct_convolution_kernel(const ConvolutionProblem& problem,
                                                       int num_threads);

}  // namespace systole::cpu
