// Parallel loops on the threads of the running program.
#pragma once

#include <cstdint>
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

// The numbers [begin, end).
struct Section {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
  friend bool operator==(const Section&, const Section&) = default;
};
// Cuts [0, size) into `chunks` nearly equal parts and returns part `number`.
inline Section chunk_of(int64_t size, int64_t chunks, int64_t number) {
  return {size * number / chunks, size * (number + 1) / chunks};
}

}  // namespace systole::cpu
