// The passes of the CPU backend, in their order.
#pragma once

#include <memory>

#include "systole/hlo/ir/module.h"
#include "systole/runtime/client.h"

namespace systole::cpu {

// A copy of the module that computes all replicas as one program: see hlo/passes/
// vectorize_replicas.h. Errors: those of vectorize_replicas.
std::unique_ptr<hlo::Module> on_all_replicas(const hlo::Module& module,
                                             const runtime::CompileOptions& options);

// Makes the module what code is generated for: without calls; simplified and fused when
// options.optimize says so.
void run_passes(hlo::Module& module, const runtime::CompileOptions& options);

}  // namespace systole::cpu
