// The code of a whole program.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "systole/backends/cpu/analysis/buffer_assignment.h"
#include "systole/backends/cpu/codegen/program_record.h"
#include "systole/backends/cpu/jit/jit.h"
#include "systole/runtime/client.h"

namespace systole::cpu {

// What compiled code needs besides memory.
struct EmittedProgram {
  ProgramRecord record;
  std::vector<std::unique_ptr<Kernel>> kernels;  // called by number
};

// Fills `code` with the function "main", a MainFunction. Errors: UNIMPLEMENTED names the
// instruction that has no code.
EmittedProgram emit_program(llvm::Module& code, const hlo::Module& module,
                            const BufferAssignment& buffers, const HostTarget& target,
                            const runtime::CompileOptions& options, int num_threads);

// Returns what emit_program() does, for code that was made of an equal module before: `record` is
// write_record() of its record. Returns nullopt for other bytes.
std::optional<EmittedProgram> restore_program(std::string_view record, const hlo::Module& module,
                                              const KernelSetting& setting);

}  // namespace systole::cpu
