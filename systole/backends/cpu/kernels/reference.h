// Instructions without native code, computed by their reference value.
#pragma once

#include <memory>

#include "systole/backends/cpu/kernels/run_context.h"
#include "systole/hlo/ir/module.h"

namespace systole::cpu {

// Buffers: operands, values that the regions capture (hlo::captures), results. A result may share
// an operand's memory. Slow: every run allocates. Errors of a run: those of the instruction's value
// (hlo/op_semantics.h).
std::unique_ptr<Kernel> make_reference_kernel(const hlo::Instruction& instruction);

}  // namespace systole::cpu
