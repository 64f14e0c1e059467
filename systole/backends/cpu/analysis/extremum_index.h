// Recognises argmax and argmin reductions.
#pragma once

#include "systole/hlo/ir/module.h"

namespace systole::cpu {

// Returns whether the reduction of values and indices gives the least index of the greatest or
// least value (NaN wins over numbers), and the value itself is unused. Its elements may then be
// taken in any order.
bool finds_extremum_index(const hlo::Instruction& reduction);

}  // namespace systole::cpu
