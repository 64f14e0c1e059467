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

// With `optimize`, what loops over arrays gain from. Without, only what is needed to run.
void optimize_module(llvm::Module& module, llvm::TargetMachine& machine, bool optimize);

}  // namespace systole::cpu
