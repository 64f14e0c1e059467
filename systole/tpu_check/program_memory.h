// The memory of a core that a program needs. Internal to this folder.
#pragma once

#include <cstdint>

#include "systole/hlo/ir/module.h"

namespace systole::tpu_check {

// Parameters, results that have no place in them, and the most that is alive of the rest. The
// program is optimised for it.
int64_t program_memory(const hlo::Module& module);

}  // namespace systole::tpu_check
