#include "systole/backends/cpu/kernels/panel_product.h"

#include <array>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "systole/backends/cpu/kernels/sizes.h"

namespace systole::cpu {

#if defined(__x86_64__)

namespace {

constexpr int kVectors = 2;  // of a row of the panel
constexpr int kFloats = 16;  // of a vector
// Rows of the panel that are fetched ahead of their use: what follows a panel is mostly the next.
constexpr int64_t kPanelRowsAhead = 64;

template <bool kPairs>
__attribute__((target("avx512f,avx512bw,avx512bf16"))) inline __m512 add_product(__m512 sum,
                                                                                 __m512 x,
                                                                                 __m512 y) {
  if constexpr (kPairs) return _mm512_dpbf16_ps(sum, (__m512bh)x, (__m512bh)y);
  return _mm512_fmadd_ps(x, y, sum);
}

template <bool kPairs, int kRows>
__attribute__((target("avx512f,avx512bw,avx512bf16"))) void multiply_rows(const PanelProduct& p) {
  __m512 sums[kRows][kVectors];
#pragma GCC unroll 14
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sums[i][v] = _mm512_setzero_ps();
  }
  const float* panel = p.panel;
  const int64_t step = p.row_step;
  for (int64_t k = 0; k < p.depth; ++k) {
    const float* const column = p.rows + k;
    const __m512 low = _mm512_loadu_ps(panel);
    const __m512 high = _mm512_loadu_ps(panel + kFloats);
    const char* const ahead = reinterpret_cast<const char*>(panel + kPanelRowsAhead * p.panel_step);
    _mm_prefetch(ahead, _MM_HINT_T0);
    _mm_prefetch(ahead + kFloats * sizeof(float), _MM_HINT_T0);
    panel += p.panel_step;
#pragma GCC unroll 14
    for (int i = 0; i < kRows; ++i) {
      const __m512 x = _mm512_set1_ps(column[i * step]);
      sums[i][0] = add_product<kPairs>(sums[i][0], x, low);
      sums[i][1] = add_product<kPairs>(sums[i][1], x, high);
    }
  }
#pragma GCC unroll 14
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v)
      _mm512_storeu_ps(p.result + i * p.result_step + v * kFloats, sums[i][v]);
  }
}

using MultiplyRows = void (*)(const PanelProduct&);

template <bool kPairs, int... kCounts>
constexpr std::array<MultiplyRows, sizeof...(kCounts)> functions_of(
    std::integer_sequence<int, kCounts...>) {
  return {&multiply_rows<kPairs, kCounts + 1>...};
}

// Entry n - 1 is for n rows.
template <bool kPairs>
constexpr auto kMultiplyRows =
    functions_of<kPairs>(std::make_integer_sequence<int, static_cast<int>(kPanelRows)>());

template <bool kPairs>
void multiply_all_rows(const PanelProduct& product, int64_t rows) {
  PanelProduct p = product;
  // As many in each call as in the others, but for one: few rows keep the units less busy.
  for (int64_t calls = (rows + kPanelRows - 1) / kPanelRows; calls > 0; --calls) {
    const int64_t count = (rows + calls - 1) / calls;
    kMultiplyRows<kPairs>[u(count - 1)](p);
    p.rows += count * p.row_step;
    p.result += count * p.result_step;
    rows -= count;
  }
}

}  // namespace

bool host_has_avx512() {
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0;
}

void multiply_panel(const PanelProduct& product, int64_t rows) {
  multiply_all_rows<false>(product, rows);
}

void multiply_pair_panel(const PanelProduct& product, int64_t rows) {
  multiply_all_rows<true>(product, rows);
}

#else

bool host_has_avx512() { return false; }
void multiply_panel(const PanelProduct&, int64_t) {}
void multiply_pair_panel(const PanelProduct&, int64_t) {}

#endif

}  // namespace systole::cpu
