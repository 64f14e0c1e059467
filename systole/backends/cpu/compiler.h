// Compiles a module to machine code and a memory plan.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "systole/backends/cpu/jit/jit.h"
#include "systole/hlo/ir/module.h"
#include "systole/runtime/client.h"

namespace systole::tracing {
struct Program;
}

namespace systole::cpu {

// The immutable data of a compiled program.
struct CompiledProgram {
  std::vector<TensorType> parameters;
  std::vector<TensorType> results;
  std::vector<hlo::Module::Alias> aliases;
  std::vector<Tensor> constants;
  std::vector<std::unique_ptr<Kernel>> kernels;
  std::vector<runtime::StepProfile> thunks;  // if compiled with profiling
  std::shared_ptr<const CompiledCode> code;
  int64_t temp_bytes = 0;
  runtime::ExecutableStats stats;
  std::string text;                               // the module after all passes
  std::shared_ptr<const tracing::Program> notes;  // what runs tell a recording
  bool has_step_loop = false;
};

// Compiles on the threads of `pool`, for as many threads; null means one. `memory_bytes` limits the
// program's memory; `cache` may be null. Errors: those of Client::compile.
std::unique_ptr<CompiledProgram> compile_program(const hlo::Module& module,
                                                 const runtime::CompileOptions& options,
                                                 ThreadPool* pool, int64_t memory_bytes, Jit& jit,
                                                 CodeCache* cache);

}  // namespace systole::cpu
