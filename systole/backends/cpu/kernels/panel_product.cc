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

// kVectors: of a row of the panel.
template <bool kPairs, int kVectors, int kRows>
__attribute__((target("avx512f,avx512bw,avx512bf16"))) void multiply_rows(const PanelProduct& p) {
  __m512 sums[kRows][kVectors];
#pragma GCC unroll 14
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sums[i][v] = _mm512_setzero_ps();
  }
  if (p.adds) {
#pragma GCC unroll 14
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v)
        sums[i][v] = _mm512_loadu_ps(p.result + i * p.result_step + v * kFloats);
    }
  }
  const float* panel = p.panel;
  const float* column = p.rows;
  const int64_t step = p.row_step;
  const float* rows_ahead = p.ahead == nullptr ? panel : p.ahead;
  const int64_t ahead_step = p.ahead == nullptr ? 0 : kAheadElements;
  for (int64_t k = 0; k < p.depth; ++k) {
    _mm_prefetch(reinterpret_cast<const char*>(rows_ahead), _MM_HINT_T1);
    rows_ahead += ahead_step;
    __m512 y[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      const float* const at = panel + v * kFloats;
      y[v] = _mm512_loadu_ps(at);
      _mm_prefetch(reinterpret_cast<const char*>(at + kPanelRowsAhead * p.panel_step), _MM_HINT_T0);
    }
    panel += p.panel_step;
#pragma GCC unroll 14
    for (int i = 0; i < kRows; ++i) {
      const __m512 x = _mm512_set1_ps(column[i * step]);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sums[i][v] = add_product<kPairs>(sums[i][v], x, y[v]);
    }
    column += p.depth_step;
  }
#pragma GCC unroll 14
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v)
      _mm512_storeu_ps(p.result + i * p.result_step + v * kFloats, sums[i][v]);
  }
}

using MultiplyRows = void (*)(const PanelProduct&);

template <bool kPairs, int kVectors, int... kCounts>
constexpr std::array<MultiplyRows, sizeof...(kCounts)> functions_of(
    std::integer_sequence<int, kCounts...>) {
  return {&multiply_rows<kPairs, kVectors, kCounts + 1>...};
}

// Entry n - 1 is for n rows.
template <bool kPairs, int kVectors>
constexpr auto kMultiplyRows =
    functions_of<kPairs, kVectors>(std::make_integer_sequence<int, static_cast<int>(kPanelRows)>());

template <bool kPairs>
void multiply_all_rows(const PanelProduct& product, int64_t rows) {
  PanelProduct p = product;
  // As many in each call as in the others, but for one: few rows keep the units less busy.
  for (int64_t calls = (rows + kPanelRows - 1) / kPanelRows; calls > 0; --calls) {
    const int64_t count = (rows + calls - 1) / calls;
    (p.half ? kMultiplyRows<kPairs, 1> : kMultiplyRows<kPairs, 2>)[u(count - 1)](p);
    p.rows += count * p.row_step;
    p.result += count * p.result_step;
    if (p.ahead != nullptr) p.ahead += p.depth * kAheadElements;
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
