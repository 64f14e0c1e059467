#include "systole/backends/cpu/jit/idle_memory.h"

#include <llvm-c/Core.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "systole/base/library_pages.h"

namespace systole::cpu {

void release_compiler_code() {
  release_library_pages(reinterpret_cast<const void*>(&LLVMGetVersion));
}

void release_compile_memory() {
  release_compiler_code();
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

bool OnceASecond::is_due(Clock::time_point now) {
  constexpr Clock::rep kSecond = Clock::duration(std::chrono::seconds(1)).count();
  Clock::rep before = last_.load();
  const Clock::rep time = now.time_since_epoch().count();
  return (before == 0 || time - before >= kSecond) && last_.compare_exchange_strong(before, time);
}

}  // namespace systole::cpu
