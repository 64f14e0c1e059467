// Which instructions this backend compiles.
#pragma once

#include "systole/hlo/ir/module.h"

namespace systole::cpu {

// Returns whether the backend has code for this opcode on these types, and for everything in its
// regions. Otherwise the instruction is not fused and runs by its reference value.
bool has_native_code(const hlo::Instruction& instruction);

}  // namespace systole::cpu
