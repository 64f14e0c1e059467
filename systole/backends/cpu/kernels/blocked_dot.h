// Large matrix products of the types that oneDNN has none for.
#pragma once

#include <memory>

#include "systole/backends/cpu/kernels/run_context.h"
#include "systole/hlo/ir/module.h"

namespace systole::cpu {

// Buffers: lhs, rhs, result. Null for other types than f64 and integers of 32 and 64 bits, and
// where the matrices have too few rows or columns to fill a block. Axes may lie in any order. Terms
// are summed up in an order that does not depend on the number of threads.
std::unique_ptr<Kernel> make_blocked_dot_kernel(const hlo::Instruction& dot);

}  // namespace systole::cpu
