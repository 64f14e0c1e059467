// The floating-point mode of kernels: denormals are zero, as operands and as results.
#pragma once

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include <cstdint>

namespace systole::cpu {

// The calling thread's floating-point control register.
inline uint64_t floating_point_mode() {
#if defined(__SSE__)
  return _mm_getcsr();
#elif defined(__aarch64__)
  uint64_t mode;
  asm volatile("mrs %0, fpcr" : "=r"(mode));
  return mode;
#else
  return 0;
#endif
}

inline void set_floating_point_mode(uint64_t mode) {
#if defined(__SSE__)
  _mm_setcsr(static_cast<unsigned>(mode));
#elif defined(__aarch64__)
  asm volatile("msr fpcr, %0" : : "r"(mode));
#else
  static_cast<void>(mode);
#endif
}

// The bits of that register which flush denormal results to zero and read denormal operands as
// zero.
inline constexpr uint64_t kFlushDenormals =
#if defined(__SSE__)
    0x8040;
#elif defined(__aarch64__)
    uint64_t{1} << 24;
#else
    0;
#endif

// Flushes denormals on the calling thread while it lives, then restores the thread's mode.
class FlushDenormals {
 public:
  FlushDenormals() : before_(floating_point_mode()) {
    if (changes()) set_floating_point_mode(before_ | kFlushDenormals);
  }
  ~FlushDenormals() {
    if (changes()) set_floating_point_mode(before_);
  }
  FlushDenormals(const FlushDenormals&) = delete;

 private:
  bool changes() const { return (before_ & kFlushDenormals) != kFlushDenormals; }

  uint64_t before_;
};

}  // namespace systole::cpu
