// Checks a whole module.
#pragma once

#include "systole/hlo/ir/module.h"

namespace systole::hlo {

// Checks operand and region counts, types against inference, definitions before uses, user lists,
// one return per computation, and aliases. Errors: INVALID_ARGUMENT (a constraint of the
// specification) or INTERNAL (a broken structure), with the instruction and its source.
void verify(const Module& module);

}  // namespace systole::hlo
