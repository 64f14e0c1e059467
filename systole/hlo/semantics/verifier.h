// Checks a whole module.
#pragma once

#include "systole/hlo/ir/module.h"

namespace systole::hlo {

// Every instruction's operand and region counts, its types against inference, definitions before
// uses, users lists, one return a computation, aliases. Errors: INVALID_ARGUMENT (a constraint of
// the specification) or INTERNAL (a broken structure), naming the instruction and its source.
void verify(const Module& module);

}  // namespace systole::hlo
