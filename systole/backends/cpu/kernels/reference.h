// Any instruction by its reference value: what the backend has no code of its own for.
#pragma once

#include <memory>

#include "systole/backends/cpu/kernels/run_context.h"
#include "systole/hlo/ir/module.h"

namespace systole::cpu {

// Buffers: the operands, the values that its regions use from around it (hlo::captures), the
// results. A result may lie where an operand does. Slow: every run allocates. Errors of the run:
// those of the instruction's value (hlo/op_semantics.h).
std::unique_ptr<Kernel> make_reference_kernel(const hlo::Instruction& instruction);

}  // namespace systole::cpu
