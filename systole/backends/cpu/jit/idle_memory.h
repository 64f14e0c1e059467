// Memory that compiling takes and runs do not need.
#pragma once

#include <atomic>
#include <chrono>

namespace systole::cpu {

// Gives LLVM's code (base/library_pages.h) back to the system until the next compilation. Others
// that compile take about a millisecond longer. Thread-safe.
void release_compiler_code();
// The same, and free memory of the heap.
void release_compile_memory();

// Says when to do so, at most once a second: compiling many small programs would read the same code
// over and over. Thread-safe.
class OnceASecond {
 public:
  using Clock = std::chrono::steady_clock;
  // Returns true at most once a second, also when several threads call it.
  bool is_due(Clock::time_point now = Clock::now());

 private:
  std::atomic<Clock::rep> last_ = 0;  // 0: never
};

}  // namespace systole::cpu
