#include "systole/backends/cpu/kernels/openmp.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "systole/backends/cpu/kernels/flush_denormals.h"

// libgomp, which oneDNN is built for, by name: other compilers have another <omp.h> or none, and
// compile pragmas for another library.
extern "C" {
void GOMP_parallel(void (*body)(void*), void* data, unsigned num_threads, unsigned flags);
int omp_get_max_threads() noexcept;
void omp_set_num_threads(int count) noexcept;
}

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

// The atomics order memory for readers that cannot see into libgomp, such as sanitizers.
void work(void* data) {
  OpenMpLoop& loop = *static_cast<OpenMpLoop*>(data);
  const FlushDenormals flush;
  for (int64_t i = loop.next.fetch_add(1); i < loop.chunks; i = loop.next.fetch_add(1)) {
    loop.fn(loop.context, loop.n * i / loop.chunks, loop.n * (i + 1) / loop.chunks);
  }
  loop.finished.fetch_add(1);
}

// Of the calling thread.
thread_local bool has_team = false;      // OpenMP may keep threads for it
thread_local bool team_is_lost = false;  // they were left in the parent of a fork

void note_team() {
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { team_is_lost = has_team || team_is_lost; });
  static_cast<void>(registered);
  has_team = true;
}

struct ThreadMode {
  uint64_t before = 0;
  bool changed = false;
};
thread_local ThreadMode thread_mode;

void flush_here(void*) {
  thread_mode = {.before = floating_point_mode(), .changed = true};
  set_floating_point_mode(thread_mode.before | kFlushDenormals);
}
void restore_here(void*) {
  if (thread_mode.changed) set_floating_point_mode(thread_mode.before);
  thread_mode.changed = false;
}

}  // namespace

OpenmpThreads::OpenmpThreads(int count) : before_(omp_get_max_threads()) {
  note_team();
  omp_set_num_threads(count);
}
OpenmpThreads::~OpenmpThreads() { omp_set_num_threads(before_); }

OpenmpFlushDenormals::OpenmpFlushDenormals(int num_threads) : num_threads_(num_threads) {
  note_team();
  if (num_threads_ > 1) GOMP_parallel(&flush_here, nullptr, static_cast<unsigned>(num_threads_), 0);
}
OpenmpFlushDenormals::~OpenmpFlushDenormals() {
  if (num_threads_ > 1)
    GOMP_parallel(&restore_here, nullptr, static_cast<unsigned>(num_threads_), 0);
}

void openmp_parallel_for(int num_threads, int64_t n, int64_t grain, ThreadPool::RangeFn fn,
                         void* context) {
  if (n <= 0) return;
  const int64_t chunks =
      std::clamp<int64_t>(n / std::max<int64_t>(grain, 1), 1, num_threads * kChunksPerThread);
  if (chunks == 1) return fn(context, 0, n);
  note_team();
  OpenMpLoop loop{.fn = fn, .context = context, .n = n, .chunks = chunks};
  loop.next.store(0);
  GOMP_parallel(&work, &loop, static_cast<unsigned>(std::min<int64_t>(num_threads, chunks)), 0);
  static_cast<void>(loop.finished.load());
}

void run_with_openmp(const std::function<void()>& run) {
  if (!team_is_lost) return run();
  std::thread(run).join();
}

}  // namespace systole::cpu
