// Parallel loops on the threads of the running program.
#pragma once

#include <memory>
#include <type_traits>

#include "systole/backends/cpu/kernels/run_context.h"

namespace systole::cpu {

// ThreadPool::parallel_for on the program's threads, with denormals flushed.
void run_in_parallel(const RunContext& context, int64_t n, int64_t grain, ThreadPool::RangeFn body,
                     void* frame);
// The same with any callable body(begin, end).
template <class F>
void run_in_parallel(const RunContext& context, int64_t n, int64_t grain, F&& body) {
  using Body = std::remove_reference_t<F>;
  const ThreadPool::RangeFn call = [](void* frame, int64_t begin, int64_t end) {
    (*static_cast<Body*>(frame))(begin, end);
  };
  const void* frame = std::addressof(body);
  run_in_parallel(context, n, grain, call, const_cast<void*>(frame));
}

}  // namespace systole::cpu
