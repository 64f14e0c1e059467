// Large matrix products of element types that oneDNN does not support.
#pragma once

#include <memory>

#include "systole/backends/cpu/kernels/run_context.h"
#include "systole/hlo/ir/module.h"

namespace systole::cpu {

// Buffers: lhs, rhs, result. Supports f64 and integers of 32 and 64 bits, with axes in any order.
// Returns null for other types and for matrices with too few rows or columns to fill a block. The
// order of summation does not depend on the number of threads.
std::unique_ptr<Kernel> make_blocked_dot_kernel(const hlo::Instruction& dot);

}  // namespace systole::cpu
