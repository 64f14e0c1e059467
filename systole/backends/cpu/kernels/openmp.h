// OpenMP's threads, which oneDNN uses. A program that calls oneDNN runs its own loops on them too:
// they spin for milliseconds after a call, on cores that other threads would need.
#pragma once

#include <cstdint>
#include <functional>

#include "systole/base/thread_pool.h"

namespace systole::cpu {

// Sets the number of OpenMP threads for calls of this thread while it lives, then restores the
// caller's number.
class OpenmpThreads {
 public:
  explicit OpenmpThreads(int count);
  ~OpenmpThreads();
  OpenmpThreads(const OpenmpThreads&) = delete;

 private:
  int before_;
};

// Flushes denormals on the calling thread's OpenMP threads while it lives (flush_denormals.h), then
// restores their modes.
class OpenmpFlushDenormals {
 public:
  explicit OpenmpFlushDenormals(int num_threads);
  ~OpenmpFlushDenormals();
  OpenmpFlushDenormals(const OpenmpFlushDenormals&) = delete;

 private:
  int num_threads_;
};

// ThreadPool::parallel_for on OpenMP's threads. `fn` must not throw. Thread-safe: each calling
// thread has its own team.
void openmp_parallel_for(int num_threads, int64_t n, int64_t grain, ThreadPool::RangeFn fn,
                         void* context);

// Calls `run`, which may use OpenMP. In a process forked by a thread that had used OpenMP, that
// thread's team does not exist and waiting for it would hang; `run` is then called on a new thread.
void run_with_openmp(const std::function<void()>& run);

}  // namespace systole::cpu
