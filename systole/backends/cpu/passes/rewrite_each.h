// Helpers of passes that rewrite one instruction, or one program, at a time.
#pragma once

#include <functional>

#include "systole/hlo/ir/module.h"

namespace systole::cpu {

// Calls `rewrite` for every program of the module, nested ones first. Returns whether any call did.
bool rewrite_programs(hlo::Module& module, const std::function<bool(hlo::Computation&)>& rewrite);

// The same for every instruction. `rewrite` may erase its instruction and insert others before it,
// and returns whether it did.
bool rewrite_each(hlo::Module& module, const std::function<bool(hlo::Instruction&)>& rewrite);

}  // namespace systole::cpu
