// Loops around quantized ops, step by step: the machine has no branches.
#pragma once

#include "systole/hlo/ir/module.h"

namespace systole::tpu_v1 {

// Loops of more steps stay on the host.
inline constexpr int64_t kMaxSteps = 512;

// Replaces loops of main that contain quantized ops and whose number of steps is known by copies of
// their bodies. Returns whether there were any.
bool unroll_loops(hlo::Module& module);

}  // namespace systole::tpu_v1
