// An AVX-512 kernel for forward convolutions of f32 images with up to three features.
#pragma once

#include <memory>

#include "systole/backends/cpu/kernels/convolution_problem.h"
#include "systole/backends/cpu/kernels/epilogue.h"
#include "systole/backends/cpu/kernels/run_context.h"

namespace systole::cpu {

// Buffers: input, kernel, those of the epilogue, result; images are channels last. oneDNN
// multiplies matrices whose inner dimension is the number of features, which is inefficient for so
// few: this kernel is 1.15 times as fast (benchmark conv.f32.mnist_1.forward). Returns null for
// other convolutions, for few pixels, and on hosts without AVX-512. The order of summation does not
// depend on the number of threads.
std::unique_ptr<Kernel> make_direct_convolution_kernel(const ConvolutionProblem& problem,
                                                       Epilogue epilogue = {});

}  // namespace systole::cpu
