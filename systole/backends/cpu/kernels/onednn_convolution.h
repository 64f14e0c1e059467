// Convolutions and their gradients by oneDNN, or by the kernels of this backend where those are
// faster.
#pragma once

#include <memory>

#include "systole/backends/cpu/kernels/epilogue.h"
#include "systole/backends/cpu/kernels/run_context.h"
#include "systole/hlo/ir/module.h"

namespace systole::cpu {

struct ConvolutionProblem;

// Buffers: input, kernel, result. `keeps_kernel`: the kernel is an input of the program, so that
// its copy in oneDNN's layout may be kept (kept_copies.h). Returns null if the instruction is not a
// ConvolutionProblem or oneDNN has only its reference loops for it. Errors: INTERNAL with oneDNN's
// message.
std::unique_ptr<Kernel> make_convolution_kernel(const hlo::Instruction& convolution,
                                                bool keeps_kernel, int num_threads);
std::unique_ptr<Kernel> make_convolution_kernel(const ConvolutionProblem& problem,
                                                bool keeps_kernel, int num_threads);

// Buffers: input, kernel, those of the epilogue, result. Returns null for convolutions whose kernel
// is not one of this backend that applies an epilogue.
std::unique_ptr<Kernel> make_convolution_with_epilogue(const hlo::Instruction& convolution,
                                                       bool keeps_kernel, int num_threads,
                                                       Epilogue epilogue);

}  // namespace systole::cpu
