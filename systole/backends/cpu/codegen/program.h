// The code of a whole program.
#pragma once

#include <memory>
#include <vector>

#include "systole/backends/cpu/analysis/buffer_assignment.h"
#include "systole/backends/cpu/jit/jit.h"
#include "systole/runtime/client.h"

namespace systole::tracing {
struct Op;
}

namespace systole::cpu {

// What compiled code needs besides memory.
struct EmittedProgram {
  std::vector<std::unique_ptr<Kernel>> kernels;  // called by number
  std::vector<runtime::StepProfile> thunks;      // noted by number, when profiling
  int64_t interpreted_thunks = 0;
  bool has_step_loop = false;
};

// Fills `code` with the function "main", a MainFunction, and `ops` with what it notes. Errors:
// UNIMPLEMENTED names the instruction that has no code.
EmittedProgram emit_program(llvm::Module& code, const hlo::Module& module,
                            const BufferAssignment& buffers, const HostTarget& target,
                            const runtime::CompileOptions& options, int num_threads,
                            std::vector<tracing::Op>& ops);

}  // namespace systole::cpu
