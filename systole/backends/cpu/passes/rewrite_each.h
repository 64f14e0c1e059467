// What passes that rewrite one instruction at a time share.
#pragma once

#include <functional>

#include "systole/hlo/ir/module.h"

namespace systole::cpu {

// Calls `rewrite` for every instruction of the module's programs, those of an instruction's own
// programs before it. `rewrite` may erase its instruction and put others before it; it says whether
// it did, and so does this of all of them.
bool rewrite_each(hlo::Module& module, const std::function<bool(hlo::Instruction&)>& rewrite);

}  // namespace systole::cpu
