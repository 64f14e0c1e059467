// The kernel of fft.
#pragma once

#include <memory>

#include "systole/backends/cpu/kernels/run_context.h"
#include "systole/hlo/ir/module.h"

namespace systole::cpu {

// Buffers: the operand, the result, which do not share memory. Transforms groups of lines at a
// time, in parallel. Real transforms compute two lines as the parts of a complex one.
std::unique_ptr<Kernel> make_fft_kernel(const hlo::Instruction& instruction);

}  // namespace systole::cpu
