// Convolutions and their gradients by oneDNN, and where that is slower by code of our own.
#pragma once

#include <memory>

#include "systole/backends/cpu/kernels/run_context.h"
#include "systole/hlo/ir/module.h"

namespace systole::cpu {

struct ConvolutionProblem;

// Buffers: input, kernel, result. Null for what is no ConvolutionProblem, and what oneDNN has no
// code for but its plain loops. Errors: INTERNAL with oneDNN's message.
std::unique_ptr<Kernel> make_convolution_kernel(const hlo::Instruction& convolution,
                                                int num_threads);
// The same of a problem.
std::unique_ptr<Kernel> make_convolution_kernel(const ConvolutionProblem& problem, int num_threads);

}  // namespace systole::cpu
