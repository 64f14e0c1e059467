// Helper of passes that rewrite one instruction at a time.
#pragma once

#include <functional>

#include "systole/hlo/ir/module.h"

namespace systole::cpu {

// Calls `rewrite` for every instruction of the module, instructions in nested programs first.
// `rewrite` may erase its instruction and insert others before it, and returns whether it did.
// Returns whether any call did.
bool rewrite_each(hlo::Module& module, const std::function<bool(hlo::Instruction&)>& rewrite);

}  // namespace systole::cpu
