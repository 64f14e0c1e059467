// Linear algebra that JAX's programs for CPUs call by name: lapack_<letter><routine>_ffi, the
// letter being s, d, c or z. Computed by the system's LAPACK, which is loaded when the first
// program that calls it is compiled.
#pragma once

#include <memory>

#include "systole/backends/cpu/kernels/run_context.h"
#include "systole/hlo/ir/module.h"

namespace systole::cpu {

// Returns whether the instruction is a custom call of such a routine.
bool is_lapack_call(const hlo::Instruction& x);

// Buffers: operands, results. A result may share an operand's memory. Matrices are the last two
// axes of an array; the others are batches. Errors: INVALID_ARGUMENT for operands and results of
// other types than the routine's, and for missing settings; UNIMPLEMENTED if liblapacke.so.3 cannot
// be loaded. REQUIRES: is_lapack_call(x).
std::unique_ptr<Kernel> make_lapack_kernel(const hlo::Instruction& x);

}  // namespace systole::cpu
