#include "systole/backends/cpu/kernels/wide_square.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace systole::cpu {

#if defined(__x86_64__)

namespace {

template <bool Streams>
__attribute__((target("avx512f"))) void square_by_registers(const uint32_t* from, int64_t stride,
                                                            uint32_t* to, int64_t to_stride) {
  __m512i x[16];
  __m512i y[16];
  for (int i = 0; i < 16; ++i) x[i] = _mm512_loadu_si512(from + i * stride);
  for (int i = 0; i < 8; ++i) {
    y[2 * i] = _mm512_unpacklo_epi32(x[2 * i], x[2 * i + 1]);
    y[2 * i + 1] = _mm512_unpackhi_epi32(x[2 * i], x[2 * i + 1]);
  }
  // Then x[4 * i + k] holds, of rows 4 * i on, column k of each group of four.
  for (int i = 0; i < 16; i += 4) {
    x[i] = _mm512_unpacklo_epi64(y[i], y[i + 2]);
    x[i + 1] = _mm512_unpackhi_epi64(y[i], y[i + 2]);
    x[i + 2] = _mm512_unpacklo_epi64(y[i + 1], y[i + 3]);
    x[i + 3] = _mm512_unpackhi_epi64(y[i + 1], y[i + 3]);
  }
  constexpr int kEven = 0x88;  // of both operands' groups
  constexpr int kOdd = 0xdd;
  for (int k = 0; k < 4; ++k) {
    y[k] = _mm512_shuffle_i32x4(x[k], x[k + 4], kEven);
    y[k + 4] = _mm512_shuffle_i32x4(x[k], x[k + 4], kOdd);
    y[k + 8] = _mm512_shuffle_i32x4(x[k + 8], x[k + 12], kEven);
    y[k + 12] = _mm512_shuffle_i32x4(x[k + 8], x[k + 12], kOdd);
  }
  for (int k = 0; k < 4; ++k) {
    x[k] = _mm512_shuffle_i32x4(y[k], y[k + 8], kEven);
    x[k + 4] = _mm512_shuffle_i32x4(y[k + 4], y[k + 12], kEven);
    x[k + 8] = _mm512_shuffle_i32x4(y[k], y[k + 8], kOdd);
    x[k + 12] = _mm512_shuffle_i32x4(y[k + 4], y[k + 12], kOdd);
  }
  for (int k = 0; k < 16; ++k) {
    if constexpr (Streams) {
      _mm512_stream_si512(reinterpret_cast<__m512i*>(to + k * to_stride), x[k]);
    } else {
      _mm512_storeu_si512(to + k * to_stride, x[k]);
    }
  }
}

}  // namespace

bool host_has_wide_squares() {
  static const bool has = __builtin_cpu_supports("avx512f") != 0;
  return has;
}

void transpose_wide_square(const uint32_t* from, int64_t stride, uint32_t* to, int64_t to_stride) {
  square_by_registers<false>(from, stride, to, to_stride);
}

void stream_wide_square(const uint32_t* from, int64_t stride, uint32_t* to, int64_t to_stride) {
  square_by_registers<true>(from, stride, to, to_stride);
}

#else

bool host_has_wide_squares() { return false; }
void transpose_wide_square(const uint32_t*, int64_t, uint32_t*, int64_t) {}
void stream_wide_square(const uint32_t*, int64_t, uint32_t*, int64_t) {}

#endif

}  // namespace systole::cpu
