// Transposes of large arrays: in blocks if the minor axis moves, otherwise in contiguous runs.
#pragma once

#include <memory>

#include "systole/backends/cpu/kernels/run_context.h"
#include "systole/hlo/ir/module.h"

namespace systole::cpu {

// Buffers: operand, result. Returns null if the array fits the first-level cache. Results of at
// least `streamed_bytes` bytes bypass the caches.
std::unique_ptr<Kernel> make_transpose_kernel(const hlo::Instruction& transpose,
                                              int64_t streamed_bytes);

}  // namespace systole::cpu
