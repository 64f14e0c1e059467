// Large matrix products by oneDNN.
#pragma once

#include <memory>

#include "systole/backends/cpu/kernels/run_context.h"
#include "systole/hlo/ir/module.h"

namespace systole::cpu {

// The axes of a dot_general's operands, by role.
struct DotAxes {
  explicit DotAxes(const hlo::Instruction& dot);
  Dims lhs_batch, lhs_free, lhs_contracting;
  Dims rhs_batch, rhs_free, rhs_contracting;
};

// Returns whether compiled loops are as fast as a library call.
bool dot_is_small(const hlo::Instruction& dot);

// Buffers: lhs, rhs, result. Returns null if oneDNN does not support the types, or if the axes
// cannot be merged into a batch of matrices without a copy. Errors: INTERNAL with oneDNN's message.
std::unique_ptr<Kernel> make_dot_kernel(const hlo::Instruction& dot, int num_threads);

}  // namespace systole::cpu
