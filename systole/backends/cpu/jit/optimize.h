// LLVM's optimisations, in the order and to the extent that our code needs.
#pragma once

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace systole::cpu {

struct HostTarget;

// What every function carries: the CPU and its features.
void set_function_attributes(llvm::Module& module, const HostTarget& target);

// With `optimize` about -O2, with `unroll` as far as that goes, else only what makes code that
// runs.
void optimize_module(llvm::Module& module, llvm::TargetMachine& machine, bool optimize,
                     bool unroll);

}  // namespace systole::cpu
