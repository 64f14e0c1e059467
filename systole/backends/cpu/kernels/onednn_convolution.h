// Convolutions and their gradients by oneDNN.
#pragma once

#include <memory>

#include "systole/backends/cpu/kernels/run_context.h"
#include "systole/hlo/module.h"

namespace systole::cpu {

// Buffers: input, kernel, result.
//   reversed windows (and a dilated input)       -> convolution_backward_data: the gradient by a
//   layer's input a kernel larger than the result (dilated), or batch groups ->
//   convolution_backward_weights: the gradient by a layer's filter any other over an input without
//   dilation     -> convolution_forward
// Null for what is none of these, other types than f32 and bf16, and what oneDNN has no
// implementation for.
std::unique_ptr<Kernel> make_convolution_kernel(const hlo::Instruction& convolution,
                                                int num_threads);

}  // namespace systole::cpu
