// Transpositions that walk across cache lines, in blocks.
#pragma once

#include <memory>

#include "systole/backends/cpu/kernels/run_context.h"
#include "systole/hlo/module.h"

namespace systole::cpu {

// For a transpose that moves the minor axis of an array too large for the first-level cache; null
// for any other. Buffers: operand, result. Results of at least `streamed_bytes` bytes are written
// past the caches.
std::unique_ptr<Kernel> make_transpose_kernel(const hlo::Instruction& transpose,
                                              int64_t streamed_bytes);

}  // namespace systole::cpu
