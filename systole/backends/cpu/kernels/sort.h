// sort's kernel.
#pragma once

#include <memory>

#include "systole/backends/cpu/kernels/run_context.h"
#include "systole/hlo/module.h"

namespace systole::cpu {

// What the compiled comparator reads and writes: pointers to the two elements of each operand, side
// by side, and the answer.
using Comparator = void (*)(void* frame, void* const* elements_and_answer);

// Buffers: the comparator, its frame, the operands, the results. An operand may be its own result.
// Always stable.
std::unique_ptr<Kernel> make_sort_kernel(const hlo::Instruction& sort);

}  // namespace systole::cpu
