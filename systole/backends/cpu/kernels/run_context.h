// The interface between compiled code and the C++ functions that it calls. Compiled code reads
// RunContext by its layout.
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "systole/base/thread_pool.h"

namespace systole::runtime {
class ProcessGroup;
}

namespace systole::cpu {

struct RunContext;
class RunNotes;

// A thunk that is C++ rather than compiled code, such as a oneDNN primitive or a sort. Created at
// compile time with everything but the memory. Several threads may run one kernel concurrently.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void run(std::span<void* const> buffers, RunContext& context) const = 0;
  // Whether runs ask for RunContext::version_of.
  virtual bool asks_for_versions() const { return false; }
};

// Number of runs of one thunk and their total time.
struct ThunkTime {
  int64_t runs = 0;
  std::chrono::nanoseconds time{0};
};

// One run of a program.
struct RunContext {
  const void* const* constants = nullptr;
  // While a recording is in progress, not 0: whether steps, and ops of this step, are noted in
  // `notes`. Read by compiled code.
  int64_t notes_steps = 0;
  int64_t notes_ops = 0;
  RunNotes* notes = nullptr;
  const std::unique_ptr<Kernel>* kernels = nullptr;
  ThreadPool* pool = nullptr;  // null: one thread
  std::exception_ptr error;    // the first that a kernel threw
  // Set by a program that started sums over processes, which a failed run does not finish.
  runtime::ProcessGroup* processes = nullptr;
  // Times of a profiled program: one entry per thunk, and the end of the last thunk.
  std::vector<ThunkTime> thunks;
  std::chrono::steady_clock::time_point thunk_end;
  // What version_of() knows, of a program with a kernel that asks for it.
  std::span<const void* const> all_constants;
  std::span<void* const> arguments;
  std::span<const uint64_t> versions;  // of the arguments

  // REQUIRES: the array is a constant or an argument, before the run writes a result over it.
  // Returns a number that is the same twice only if the array at this address holds the same
  // elements both times: kConstantVersion for a constant; 0 where nothing is known.
  uint64_t version_of(const void* array) const;
};

inline constexpr uint64_t kConstantVersion = 1;

// The compiled program. Takes arguments and results by number, and the arena.
using MainFunction = void (*)(void* const* arguments, void* const* results, void* temp,
                              RunContext* context);

// A function that compiled code calls, and its name there.
struct RuntimeSymbol {
  std::string name;
  void* address;
};
// Returns all of them, including SLEEF's.
std::span<const RuntimeSymbol> runtime_symbols();

}  // namespace systole::cpu
