// The code of a whole program.
#pragma once

#include <memory>
#include <vector>

#include "systole/backends/cpu/analysis/buffer_assignment.h"
#include "systole/backends/cpu/jit/jit.h"

namespace systole::cpu {

// Fills `code` with the function "main", a MainFunction, and returns the kernels that it calls by
// number. Errors: UNIMPLEMENTED names the instruction that has no code.
std::vector<std::unique_ptr<Kernel>> emit_program(llvm::Module& code, const hlo::Module& module,
                                                  const BufferAssignment& buffers,
                                                  const HostTarget& target, bool optimize,
                                                  int num_threads);

// Floating-point operations of one run: 2 for each multiplication of a product, 1 for each
// elementwise result.
double program_flops(const hlo::Module& module);

}  // namespace systole::cpu
