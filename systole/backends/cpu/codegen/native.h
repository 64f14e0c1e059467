// Which instructions this backend has code of its own for.
#pragma once

#include "systole/hlo/ir/module.h"

namespace systole::cpu {

// The backend emits code for this opcode on these types, and for all that its regions compute of
// elements. False: the instruction stays alone, and runs by its reference value.
bool has_native_code(const hlo::Instruction& instruction);

}  // namespace systole::cpu
