#include <dlfcn.h>
#include <sleef.h>

#include <cmath>

#include "systole/backends/cpu/kernels/parallel.h"
#include "systole/backends/cpu/kernels/run_context.h"
#include "systole/backends/cpu/kernels/run_notes.h"
#include "systole/backends/cpu/kernels/stream.h"
#include "systole/base/mutex.h"

namespace systole::cpu {
namespace {

// An exception must not pass through compiled code, which has no unwind tables: it waits in the
// context for the end.
void run_kernel(RunContext* context, int64_t kernel, void* const* buffers, int64_t count) {
  if (context->error != nullptr) return;
  try {
    context->kernels[kernel]->run({buffers, static_cast<size_t>(count)}, *context);
  } catch (...) {
    // Several threads of a parallel loop may fail.
    static Mutex mutex;
    const MutexLock lock(mutex);
    context->error = std::current_exception();
  }
}

// The memory that the program uses is given for the compiler's eyes alone.
void note_thunk(RunContext* context, int64_t thunk, const void*, const void*, const void*) {
  const auto now = std::chrono::steady_clock::now();
  ThunkTime& time = context->thunks[thunk];
  ++time.runs;
  time.time += now - context->thunk_end;
  context->thunk_end = now;
}

void enter_steps(RunContext* context) { context->notes->enter_steps(*context); }
void end_step(RunContext* context) { context->notes->end_step(*context); }
void leave_steps(RunContext* context) { context->notes->leave_steps(*context); }
void note_op(RunContext* context, int64_t op) { context->notes->note_op(op); }

void parallel_for(RunContext* context, int64_t n, int64_t grain, ThreadPool::RangeFn body,
                  void* frame) {
  run_in_parallel(*context, n, grain, body, frame);
}

uint64_t unsigned_power(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result *= base;
    base *= base;
  }
  return result;
}

// A negative exponent gives 0, but for 1 and -1.
int64_t signed_power(int64_t base, int64_t exponent) {
  if (exponent < 0 && base != 1 && base != -1) return 0;
  return static_cast<int64_t>(
      unsigned_power(static_cast<uint64_t>(base), static_cast<uint64_t>(exponent)));
}

template <class F>
void* address(F* function) {
  return reinterpret_cast<void*>(function);
}

// Keeps libsleef linked; its other functions are then found by name.
void* sleef_library() { return address(&Sleef_expf_u10); }

}  // namespace

std::span<const RuntimeSymbol> runtime_symbols() {
  static const std::vector<RuntimeSymbol> symbols = {
      {"systole_cpu_run_kernel", address(&run_kernel)},
      {"systole_cpu_note_thunk", address(&note_thunk)},
      {"systole_cpu_enter_steps", address(&enter_steps)},
      {"systole_cpu_end_step", address(&end_step)},
      {"systole_cpu_leave_steps", address(&leave_steps)},
      {"systole_cpu_note_op", address(&note_op)},
      {"systole_cpu_parallel_for", address(&parallel_for)},
      {"systole_cpu_stream", address(&stream)},
      {"systole_cpu_end_streams", address(&end_streams)},
      {"systole_cpu_unsigned_power", address(&unsigned_power)},
      {"systole_cpu_signed_power", address(&signed_power)},
      {"systole_cpu_sleef", sleef_library()},
      {"fmodf", address(static_cast<float (*)(float, float)>(&std::fmod))},
      {"fmod", address(static_cast<double (*)(double, double)>(&std::fmod))},
  };
  return symbols;
}

}  // namespace systole::cpu
