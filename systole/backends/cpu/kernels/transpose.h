// Transpositions of large arrays: in blocks where they walk across cache lines, in runs where not.
#pragma once

#include <memory>

#include "systole/backends/cpu/kernels/run_context.h"
#include "systole/hlo/ir/module.h"

namespace systole::cpu {

// For a transpose of an array too large for the first-level cache; null for any other, and where
// the minor axis stays but is short. Buffers: operand, result. Results of at least `streamed_bytes`
// bytes are written past the caches.
std::unique_ptr<Kernel> make_transpose_kernel(const hlo::Instruction& transpose,
                                              int64_t streamed_bytes);

}  // namespace systole::cpu
