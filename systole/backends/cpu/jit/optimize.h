// LLVM's optimisation pipeline for compiled programs.
#pragma once

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace systole::cpu {

struct HostTarget;

// Sets the CPU, its features and the denormal mode of every function.
void set_function_attributes(llvm::Module& module, const HostTarget& target);

// With `optimize`, the -O2 pipeline; loops are unrolled only with `unroll`. Without, only what is
// needed to run.
void optimize_module(llvm::Module& module, llvm::TargetMachine& machine, bool optimize,
                     bool unroll);

}  // namespace systole::cpu
