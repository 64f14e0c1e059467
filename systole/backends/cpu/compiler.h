// From a module to machine code and a memory plan.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "systole/backends/cpu/jit/jit.h"
#include "systole/hlo/module.h"
#include "systole/runtime/client.h"

namespace systole::cpu {

// Everything a run needs, unchanging.
struct CompiledProgram {
  std::vector<TensorType> parameters;
  std::vector<TensorType> results;
  std::vector<hlo::Module::Alias> aliases;
  std::vector<Tensor> constants;
  std::vector<std::unique_ptr<Kernel>> kernels;
  std::vector<runtime::StepProfile> steps;  // of a program that is profiled
  std::unique_ptr<CompiledCode> code;
  bool openmp = false;  // some kernel runs on OpenMP's threads
  int64_t temp_bytes = 0;
  runtime::ExecutableStats stats;
  std::string text;  // the module after all passes
};

// `num_threads` >= 1; `memory_bytes` is what the program may use. Errors: those of Client::compile.
std::unique_ptr<CompiledProgram> compile_program(const hlo::Module& module,
                                                 const runtime::CompileOptions& options,
                                                 int num_threads, int64_t memory_bytes, Jit& jit);

}  // namespace systole::cpu
