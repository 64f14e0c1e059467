// Reductions that look for the place of the best element.
#pragma once

#include "systole/hlo/ir/module.h"

namespace systole::cpu {

// The reduction is of values and their indices, makes the least index of those with the greatest or
// least value (a NaN is better than any number), and no one wants the value itself: its elements
// may be taken in any order.
bool finds_extremum_index(const hlo::Instruction& reduction);

}  // namespace systole::cpu
