#include "systole/backends/cpu/kernels/parallel.h"

#include "systole/backends/cpu/kernels/openmp.h"

namespace systole::cpu {

void run_in_parallel(const RunContext& context, int64_t n, int64_t grain, ThreadPool::RangeFn body,
                     void* frame) {
  if (context.pool == nullptr) {
    body(frame, 0, n);
  } else if (context.openmp) {
    openmp_parallel_for(context.pool->num_threads(), n, grain, body, frame);
  } else {
    context.pool->parallel_for(n, grain, body, frame);
  }
}

}  // namespace systole::cpu
