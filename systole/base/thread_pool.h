// A fixed pool of threads for data-parallel loops.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace systole {

// `num_threads` counts the calling thread: a pool of 1 starts no thread and runs everything on the
// caller. parallel_for may be called from several threads at once and from inside a task. A call
// never waits for a thread that is busy elsewhere: the caller works through the remaining chunks
// itself. Calls do not allocate. An idle thread spins for some tens of microseconds, so that the
// next call finds it awake, and then sleeps. REQUIRES: no call is running at destruction.
class ThreadPool {
 public:
  // 0 means one thread for each CPU that this process may use. Errors: RESOURCE_EXHAUSTED if the
  // system refuses a thread; those that were started have ended then.
  explicit ThreadPool(int num_threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int num_threads() const;

  using RangeFn = void (*)(void* context, int64_t begin, int64_t end);
  // Calls fn(context, begin, end) for disjoint chunks that cover [0, n), each of at least `grain`
  // elements (the last may be shorter), and returns when all are done. The chunks depend only on n,
  // grain and num_threads. All chunks run even if one throws; then the exception of the first chunk
  // that threw is rethrown.
  void parallel_for(int64_t n, int64_t grain, RangeFn fn, void* context);
  // As above, with a callable body(begin, end).
  template <class F>
  void parallel_for(int64_t n, int64_t grain, F&& body) {
    using Body = std::remove_reference_t<F>;
    const RangeFn call = [](void* context, int64_t begin, int64_t end) {
      (*static_cast<Body*>(context))(begin, end);
    };
    const void* context = std::addressof(body);
    parallel_for(n, grain, call, const_cast<void*>(context));
  }

  // Returns the pool of the process, with a thread for each CPU. It lives until the process ends.
  static ThreadPool& global();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace systole
