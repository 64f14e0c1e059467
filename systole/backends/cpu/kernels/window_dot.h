// Convolutions and gradients of their kernels as products of windows by a matrix that is packed
// into panels (panel_dot.h), on hosts with AVX-512.
#pragma once

#include <memory>

#include "systole/backends/cpu/kernels/convolution_problem.h"
#include "systole/backends/cpu/kernels/epilogue.h"
#include "systole/backends/cpu/kernels/run_context.h"

namespace systole::cpu {

// Buffers: input, kernel (for a kernel's gradient: the output's gradient), those of the epilogue,
// result. Windows are copied, some at a time, unless they are rows of the image as it lies.
// `keeps_kernel`: see make_convolution_kernel(). The order of summation depends only on the sizes.
//
// Takes, on hosts with AVX-512, where oneDNN is slower:
//   forward, f32: windows of one pixel, and others with strides or a kernel of 1 MiB and more, if
//     keeps_kernel; else windows of one pixel on images of few pixels
//   gradient of the input, f32: windows of one pixel on images of few pixels
//   gradient of the kernel, f32 and bf16: images of few pixels and many features
// Returns null for everything else.
std::unique_ptr<Kernel> make_window_dot_kernel(const ConvolutionProblem& problem, bool keeps_kernel,
                                               int num_threads, Epilogue epilogue = {});

}  // namespace systole::cpu
