// What compiled code and the C++ functions it calls have in common. Compiled code reads RunContext
// by its layout.
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "systole/base/thread_pool.h"

namespace systole::cpu {

struct RunContext;

// A step of a program that is C++ rather than compiled code: a oneDNN primitive, a sort. Made while
// compiling, with everything it needs but the memory. Several threads may run one kernel at once.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void run(std::span<void* const> buffers, RunContext& context) const = 0;
  // Its threads are OpenMP's (openmp.h), not the pool's.
  virtual bool uses_openmp() const { return false; }
};

// The runs of one step of a program and the time they took.
struct StepTime {
  int64_t runs = 0;
  std::chrono::nanoseconds time{0};
};

// One run of a program.
struct RunContext {
  const void* const* constants = nullptr;
  const std::unique_ptr<Kernel>* kernels = nullptr;
  ThreadPool* pool = nullptr;  // null: one thread
  bool openmp = false;         // loops run on OpenMP's threads, as many as the pool has
  std::exception_ptr error;    // the first that a kernel threw
  // Of a program that is profiled: one for each step, and when the last step ended.
  std::vector<StepTime> steps;
  std::chrono::steady_clock::time_point step_end;
};

// The whole program: arguments and results by number, the arena.
using MainFunction = void (*)(void* const* arguments, void* const* results, void* temp,
                              RunContext* context);

// A function that compiled code calls, by the name under which it does.
struct RuntimeSymbol {
  std::string name;
  void* address;
};
// All of them, SLEEF's included.
std::span<const RuntimeSymbol> runtime_symbols();

}  // namespace systole::cpu
