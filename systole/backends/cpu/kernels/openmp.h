// oneDNN's threads: OpenMP's. A program that calls oneDNN runs its own loops on them, too, because
// they go on spinning for milliseconds behind a call, on CPUs that other threads would want.
#pragma once

#include <cstdint>

#include "systole/base/thread_pool.h"

namespace systole::cpu {

// How many threads the calling thread's next oneDNN calls use.
void set_openmp_threads(int count);

// ThreadPool::parallel_for on OpenMP's threads. `fn` must not throw. Several threads may call it at
// once: each has helpers of its own.
void openmp_parallel_for(int num_threads, int64_t n, int64_t grain, ThreadPool::RangeFn fn,
                         void* context);

}  // namespace systole::cpu
