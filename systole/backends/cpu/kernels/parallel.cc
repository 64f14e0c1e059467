#include "systole/backends/cpu/kernels/parallel.h"

#include "systole/backends/cpu/kernels/flush_denormals.h"

namespace systole::cpu {
namespace {

struct PoolLoop {
  ThreadPool::RangeFn body;
  void* frame;
};

void run_flushed(void* data, int64_t begin, int64_t end) {
  const FlushDenormals flush;
  const PoolLoop& loop = *static_cast<const PoolLoop*>(data);
  loop.body(loop.frame, begin, end);
}

}  // namespace

void run_in_parallel(const RunContext& context, int64_t n, int64_t grain, ThreadPool::RangeFn body,
                     void* frame) {
  if (context.pool == nullptr) {
    body(frame, 0, n);
  } else {
    PoolLoop loop{.body = body, .frame = frame};
    context.pool->parallel_for(n, grain, &run_flushed, &loop);
  }
}

}  // namespace systole::cpu
