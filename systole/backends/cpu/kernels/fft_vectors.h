// The vectors that Fourier transforms compute with: as many elements as a register of AVX has.
// Without AVX the compiler uses several registers.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <type_traits>

namespace systole::cpu {

constexpr size_t kFftVectorBytes = 32;

template <class T>
struct FftVectorOf {
  using Type [[gnu::vector_size(kFftVectorBytes), gnu::aligned(alignof(T)), gnu::may_alias]] = T;
};
template <class T>
using FftVector = typename FftVectorOf<T>::Type;
template <class T>
constexpr int64_t kFftLanes = kFftVectorBytes / sizeof(T);

template <class X>
struct FftComplex {
  X re;
  X im;
};

// Functions that are compiled for the machine of their caller.
#define SYSTOLE_FFT_INLINE [[gnu::always_inline]] inline  // NOLINT(cppcoreguidelines-macro-usage)

// Returns whether functions for AVX2 and FMA run on this machine.
inline bool has_fft_vectors() {
#if defined(__x86_64__)
  static const bool has_avx2 =
      __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  return has_avx2;
#else
  return false;
#endif
}

// exp(-2 pi i k / n), computed with more digits than T has.
template <class T>
FftComplex<T> fft_root(int64_t k, int64_t n) {
  using Wide = std::conditional_t<std::is_same_v<T, float>, double, long double>;
  const Wide angle =
      -2 * std::numbers::pi_v<Wide> * static_cast<Wide>(k % n) / static_cast<Wide>(n);
  return {static_cast<T>(std::cos(angle)), static_cast<T>(std::sin(angle))};
}

}  // namespace systole::cpu
