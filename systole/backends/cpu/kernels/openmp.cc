#include "systole/backends/cpu/kernels/openmp.h"

#include <omp.h>

#include <algorithm>
#include <atomic>

// libgomp's entry point for a parallel region. Called by name, not by a pragma: pragmas are
// compiled for another library by other compilers, and oneDNN is built for this one.
extern "C" void GOMP_parallel(void (*body)(void*), void* data, unsigned num_threads,
                              unsigned flags);

namespace systole::cpu {
namespace {

constexpr int64_t kChunksPerThread = 4;  // so that a thread that is held up does not hold up all

struct OpenMpLoop {
  ThreadPool::RangeFn fn;
  void* context;
  int64_t n;
  int64_t chunks;
  std::atomic<int64_t> next = 0;
  std::atomic<int> finished = 0;
};

// The atomics order what the threads do, also for those who cannot see into libgomp: sanitizers.
void work(void* data) {
  OpenMpLoop& loop = *static_cast<OpenMpLoop*>(data);
  for (int64_t i = loop.next.fetch_add(1); i < loop.chunks; i = loop.next.fetch_add(1)) {
    loop.fn(loop.context, loop.n * i / loop.chunks, loop.n * (i + 1) / loop.chunks);
  }
  loop.finished.fetch_add(1);
}

}  // namespace

void set_openmp_threads(int count) { omp_set_num_threads(count); }

void openmp_parallel_for(int num_threads, int64_t n, int64_t grain, ThreadPool::RangeFn fn,
                         void* context) {
  if (n <= 0) return;
  const int64_t chunks =
      std::clamp<int64_t>(n / std::max<int64_t>(grain, 1), 1, num_threads * kChunksPerThread);
  if (chunks == 1) return fn(context, 0, n);
  OpenMpLoop loop{.fn = fn, .context = context, .n = n, .chunks = chunks};
  loop.next.store(0);
  GOMP_parallel(&work, &loop, static_cast<unsigned>(std::min<int64_t>(num_threads, chunks)), 0);
  static_cast<void>(loop.finished.load());
}

}  // namespace systole::cpu
