// Convolutions of channels-last images of f32 by code of our own.
#pragma once

#include <memory>

#include "systole/backends/cpu/kernels/convolution_problem.h"
#include "systole/backends/cpu/kernels/run_context.h"

namespace systole::cpu {

// Buffers: input, kernel, result. Null where oneDNN's code for channels-last images is as fast, or
// this host has no wide registers or more threads than there is work for. Terms are summed up in an
// order that does not depend on the number of threads.
std::unique_ptr<Kernel> make_direct_convolution_kernel(const ConvolutionProblem& problem,
                                                       int num_threads);

}  // namespace systole::cpu
