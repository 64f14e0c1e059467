#include "systole/backends/cpu/kernels/score_rows.h"

#include <algorithm>
#include <bit>
#include <limits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace systole::cpu {

#if defined(__x86_64__)

#define SYSTOLE_VECTORS __attribute__((target("avx512f,avx512bw")))

namespace {

constexpr int64_t kVectorFloats = 16;
constexpr int64_t kVectorBytes = 64;

// The lanes of a vector at `at` that are below `count`.
__mmask16 lanes_below(int64_t at, int64_t count) {
  return static_cast<__mmask16>((1U << std::min(count - at, kVectorFloats)) - 1);
}

// Replaces each vector x of up to 16 scores by f(x, position of its first score, mask of its
// lanes).
template <class F>
SYSTOLE_VECTORS inline void each_vector(float* scores, int64_t count, const F& f) {
  int64_t at = 0;
  for (; at + kVectorFloats <= count; at += kVectorFloats)
    _mm512_storeu_ps(scores + at, f(_mm512_loadu_ps(scores + at), at, __mmask16{0xffff}));
  if (at == count) return;
  const __mmask16 lanes = lanes_below(at, count);
  _mm512_mask_storeu_ps(scores + at, lanes,
                        f(_mm512_maskz_loadu_ps(lanes, scores + at), at, lanes));
}

// exp(x), x at most 0 or NaN: 2^n times a polynomial in what is left of x / log(2).
SYSTOLE_VECTORS inline __m512 exponential(__m512 x) {
  const __m512 all = _mm512_mul_ps(x, _mm512_set1_ps(1.44269504F));
  // (The maximum is its second operand if that is NaN.)
  const __m512 power = _mm512_max_ps(_mm512_set1_ps(-160.0F), all);
  const __m512 n = _mm512_roundscale_ps(power, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  const __m512 r = _mm512_sub_ps(power, n);
  __m512 p = _mm512_set1_ps(0.00015353361959569156F);
  for (const float c : {0.0013398875016719103F, 0.00961843691766262F, 0.055503323674201965F,
                        0.24022647738456726F, 0.6931471824645996F, 1.0F})
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(c));
  return _mm512_scalef_ps(p, n);
}

}  // namespace

SYSTOLE_VECTORS void multiply_scores(float* scores, int64_t count, float factor) {
  const __m512 y = _mm512_set1_ps(factor);
  each_vector(scores, count,
              [y](__m512 x, int64_t, __mmask16) SYSTOLE_VECTORS { return _mm512_mul_ps(x, y); });
}

SYSTOLE_VECTORS void add_number(float* scores, int64_t count, float number) {
  const __m512 y = _mm512_set1_ps(number);
  each_vector(scores, count,
              [y](__m512 x, int64_t, __mmask16) SYSTOLE_VECTORS { return _mm512_add_ps(x, y); });
}

SYSTOLE_VECTORS void add_numbers(float* scores, int64_t count, const float* numbers) {
  each_vector(scores, count, [numbers](__m512 x, int64_t at, __mmask16 lanes) SYSTOLE_VECTORS {
    return _mm512_add_ps(x, _mm512_maskz_loadu_ps(lanes, numbers + at));
  });
}

SYSTOLE_VECTORS void select_scores(float* scores, int64_t count, const uint8_t* seen,
                                   float otherwise) {
  const __m512 y = _mm512_set1_ps(otherwise);
  const auto select = [y](__m512 x, __m128i bytes) SYSTOLE_VECTORS {
    const __m512i wide = _mm512_cvtepu8_epi32(bytes);
    return _mm512_mask_blend_ps(_mm512_test_epi32_mask(wide, wide), y, x);
  };
  each_vector(scores, count, [&](__m512 x, int64_t at, __mmask16 lanes) SYSTOLE_VECTORS {
    if (lanes == 0xffff)
      return select(x, _mm_loadu_si128(reinterpret_cast<const __m128i*>(seen + at)));
    alignas(16) uint8_t last[kVectorFloats] = {};
    std::copy_n(seen + at, count - at, last);
    return select(x, _mm_load_si128(reinterpret_cast<const __m128i*>(last)));
  });
}

SYSTOLE_VECTORS float greatest_score(const float* scores, int64_t count) {
  const __m512 least = _mm512_set1_ps(-std::numeric_limits<float>::infinity());
  __m512 greatest[2] = {least, least};
  int64_t at = 0;
  for (; at + 2 * kVectorFloats <= count; at += 2 * kVectorFloats) {
    greatest[0] = _mm512_max_ps(greatest[0], _mm512_loadu_ps(scores + at));
    greatest[1] = _mm512_max_ps(greatest[1], _mm512_loadu_ps(scores + at + kVectorFloats));
  }
  for (; at < count; at += kVectorFloats) {
    const __m512 x = _mm512_mask_loadu_ps(least, lanes_below(at, count), scores + at);
    greatest[0] = _mm512_max_ps(greatest[0], x);
  }
  return _mm512_reduce_max_ps(_mm512_max_ps(greatest[0], greatest[1]));
}

SYSTOLE_VECTORS float exponentials(float* scores, int64_t count, float greatest) {
  const __m512 most = _mm512_set1_ps(greatest);
  __m512 sums = _mm512_setzero_ps();
  each_vector(scores, count, [&](__m512 x, int64_t, __mmask16 lanes) SYSTOLE_VECTORS {
    const __m512 e = exponential(_mm512_sub_ps(x, most));
    sums = _mm512_mask_add_ps(sums, lanes, sums, e);
    return e;
  });
  return _mm512_reduce_add_ps(sums);
}

SYSTOLE_VECTORS void softmax_gradient(float* exponentials, float* gradients, int64_t count,
                                      float sum) {
  const __m512 inverse = _mm512_set1_ps(1 / sum);
  __m512 sums = _mm512_setzero_ps();
  each_vector(exponentials, count, [&](__m512 x, int64_t at, __mmask16 lanes) SYSTOLE_VECTORS {
    const __m512 weight = _mm512_mul_ps(x, inverse);
    const __m512 gradient = _mm512_maskz_loadu_ps(lanes, gradients + at);
    sums = _mm512_mask3_fmadd_ps(weight, gradient, sums, lanes);
    return weight;
  });
  const __m512 mean = _mm512_set1_ps(_mm512_reduce_add_ps(sums));
  each_vector(gradients, count, [&](__m512 x, int64_t at, __mmask16 lanes) SYSTOLE_VECTORS {
    return _mm512_mul_ps(_mm512_maskz_loadu_ps(lanes, exponentials + at), _mm512_sub_ps(x, mean));
  });
}

SYSTOLE_VECTORS void scale_row(const float* from, int64_t count, float factor, float* to) {
  const __m512 y = _mm512_set1_ps(factor);
  int64_t at = 0;
  for (; at + kVectorFloats <= count; at += kVectorFloats)
    _mm512_storeu_ps(to + at, _mm512_mul_ps(_mm512_loadu_ps(from + at), y));
  if (at == count) return;
  const __mmask16 lanes = lanes_below(at, count);
  _mm512_mask_storeu_ps(to + at, lanes, _mm512_mul_ps(_mm512_maskz_loadu_ps(lanes, from + at), y));
}

SYSTOLE_VECTORS SeenRange seen_range(const uint8_t* seen, int64_t count) {
  SeenRange range{.begin = count, .end = 0};
  for (int64_t at = 0; at < count; at += kVectorBytes) {
    const int64_t left = count - at;
    const __mmask64 lanes = left >= kVectorBytes ? ~uint64_t{0} : (uint64_t{1} << left) - 1;
    const __m512i x = _mm512_maskz_loadu_epi8(lanes, seen + at);
    const uint64_t set = _mm512_test_epi8_mask(x, x);
    if (set == 0) continue;
    range.begin = std::min(range.begin, at + std::countr_zero(set));
    range.end = at + kVectorBytes - std::countl_zero(set);
  }
  return range.end == 0 ? SeenRange{} : range;
}

#else

void multiply_scores(float*, int64_t, float) {}
void add_number(float*, int64_t, float) {}
void add_numbers(float*, int64_t, const float*) {}
void select_scores(float*, int64_t, const uint8_t*, float) {}
float greatest_score(const float*, int64_t) { return 0; }
float exponentials(float*, int64_t, float) { return 0; }
void softmax_gradient(float*, float*, int64_t, float) {}
void scale_row(const float*, int64_t, float, float*) {}
SeenRange seen_range(const uint8_t*, int64_t) { return {}; }

#endif

}  // namespace systole::cpu
