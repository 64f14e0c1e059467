// Convolutions with windows of 3 by 3 by Winograd's method F(2 x 2, 3 x 3), on hosts with AVX-512.
#pragma once

#include <memory>

#include "systole/backends/cpu/kernels/convolution_problem.h"
#include "systole/backends/cpu/kernels/epilogue.h"
#include "systole/backends/cpu/kernels/run_context.h"

namespace systole::cpu {

// Buffers: input, kernel, those of the epilogue, result. A square of 2 by 2 results takes 16
// multiplications for each pair of features instead of 36. Inputs, kernels and sums are transformed
// by additions and halves: sums of small whole numbers stay exact, and results have about the error
// of the plain sums. An infinity or NaN makes NaN of all results of the squares that read it. The
// order of summation depends on nothing but the sizes.
//
// `keeps_kernel`: as of make_convolution_kernel. Returns null for other forms than forward
// convolutions and gradients of the input, for other windows, strides and types, for features that
// fill no vectors, where the transformations cost more than they save, and on hosts without
// AVX-512.
std::unique_ptr<Kernel> make_winograd_kernel(const ConvolutionProblem& problem, bool keeps_kernel,
                                             int num_threads, Epilogue epilogue = {});

}  // namespace systole::cpu
