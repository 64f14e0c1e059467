// The pass pipeline of the CPU backend.
#pragma once

#include <functional>
#include <memory>

#include "systole/hlo/ir/module.h"
#include "systole/runtime/client.h"

namespace systole::cpu {

// Returns a copy of the module that computes all replicas as one program
// (hlo/passes/replicas/vectorize_replicas.h), side by side or one after another. Errors: those of
// vectorize_replicas.
std::unique_ptr<hlo::Module> on_all_replicas(const hlo::Module& module,
                                             const runtime::CompileOptions& options,
                                             bool in_turn = false);

// Prepares the module for code generation: inlines calls; simplifies and fuses if options.optimize
// is set. `has_native_code` tells which instructions the code generator can compile.
void run_passes(hlo::Module& module, const runtime::CompileOptions& options,
                const std::function<bool(const hlo::Instruction&)>& has_native_code);

}  // namespace systole::cpu
