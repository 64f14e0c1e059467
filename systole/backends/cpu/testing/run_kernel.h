// Runs one kernel with a thread pool of its own.
#pragma once

#include <span>

#include "systole/backends/cpu/kernels/run_context.h"

namespace systole::cpu::testing {

// `buffers` are the kernel's operands and results, in its order.
inline void run_kernel(const Kernel& kernel, std::span<void* const> buffers, int threads) {
  ThreadPool pool(threads);
  RunContext context;
  context.pool = &pool;
  kernel.run(buffers, context);
}

}  // namespace systole::cpu::testing
