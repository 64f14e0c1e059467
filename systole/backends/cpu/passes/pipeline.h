// The passes of the CPU backend, in their order.
#pragma once

#include "systole/hlo/module.h"
#include "systole/runtime/client.h"

namespace systole::cpu {

// Makes the module what code is generated for: without calls; simplified and fused when
// options.optimize says so.
void run_passes(hlo::Module& module, const runtime::CompileOptions& options);

}  // namespace systole::cpu
