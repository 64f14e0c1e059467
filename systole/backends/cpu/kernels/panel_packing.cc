#include "systole/backends/cpu/kernels/panel_packing.h"

#include <algorithm>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "systole/backends/cpu/kernels/panel_product.h"

namespace systole::cpu {

#if defined(__x86_64__)

namespace {

constexpr int kTile = 16;                 // vectors of as many elements
constexpr int64_t kPackedRowsAhead = 16;  // that a copy fetches before it reads them

// One of the four steps of a transposition: exchanges the halves of pairs of vectors.
__attribute__((target("avx512f"))) inline void exchange_quarters(__m512i* x, const __m512i* y,
                                                                 int first, int second, int low,
                                                                 int high) {
  x[low] = _mm512_shuffle_i32x4(y[first], y[second], 0x88);
  x[high] = _mm512_shuffle_i32x4(y[first], y[second], 0xdd);
}

// to[i * to_step + j] = element i of a[j], for 16 by 16 elements.
__attribute__((target("avx512f"))) inline void store_transposed(__m512i* a, float* to,
                                                                int64_t to_step) {
  __m512i b[kTile];
#pragma GCC unroll 8
  for (int i = 0; i < kTile; i += 2) {
    b[i] = _mm512_unpacklo_epi32(a[i], a[i + 1]);
    b[i + 1] = _mm512_unpackhi_epi32(a[i], a[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < kTile; i += 4) {
    a[i] = _mm512_unpacklo_epi64(b[i], b[i + 2]);
    a[i + 1] = _mm512_unpackhi_epi64(b[i], b[i + 2]);
    a[i + 2] = _mm512_unpacklo_epi64(b[i + 1], b[i + 3]);
    a[i + 3] = _mm512_unpackhi_epi64(b[i + 1], b[i + 3]);
  }
  // Vector 4 g + c has, in quarter q, column 4 q + c of rows 4 g to 4 g + 3.
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    exchange_quarters(b, a, c, c + 4, c, c + 4);
    exchange_quarters(b, a, c + 8, c + 12, c + 8, c + 12);
  }
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    exchange_quarters(a, b, c, c + 8, c, c + 8);
    exchange_quarters(a, b, c + 4, c + 12, c + 4, c + 12);
  }
#pragma GCC unroll 16
  for (int i = 0; i < kTile; ++i) _mm512_storeu_si512(to + i * to_step, a[i]);
}

// to[i * to_step + j] = from[j * from_step + i] for 16 by 16 elements.
__attribute__((target("avx512f"))) void transpose_vectors(const float* from, int64_t from_step,
                                                          float* to, int64_t to_step) {
  __m512i a[kTile];
#pragma GCC unroll 16
  for (int i = 0; i < kTile; ++i) a[i] = _mm512_loadu_si512(from + i * from_step);
  store_transposed(a, to, to_step);
}

// The pairs of 16 elements of two rows.
__attribute__((target("avx512f"))) inline __m512i load_pairs(const uint16_t* even,
                                                             const uint16_t* odd) {
  const __m512i low =
      _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(even)));
  const __m512i high =
      _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(odd)));
  return _mm512_or_si512(low, _mm512_slli_epi32(high, 16));
}

// What fewer than 16 transposed columns leave of a tile.
void copy_columns(const float* tile, int64_t count, float* to, int64_t to_step) {
  for (int64_t i = 0; i < kTile; ++i) std::copy_n(tile + i * kTile, count, to + i * to_step);
}

}  // namespace

__attribute__((target("avx512f"))) void transpose_rows(const ScatteredRows<float>& rows,
                                                       int64_t columns, float* to,
                                                       int64_t to_step) {
  alignas(64) float tile[kTile * kTile];
  for (int64_t k = 0; k < rows.count(); k += kTile) {
    const int64_t count = std::min<int64_t>(rows.count() - k, kTile);
    for (int64_t j = 0; j < columns; j += kTile) {
      __m512i a[kTile];
      for (int64_t i = 0; i < kTile; ++i)
        a[i] = _mm512_loadu_si512(rows.row(k + std::min(i, count - 1)) + j);
      float* const place = to + j * to_step + k;
      store_transposed(a, count == kTile ? place : tile, count == kTile ? to_step : kTile);
      if (count < kTile) copy_columns(tile, count, place, to_step);
    }
  }
}

__attribute__((target("avx512f"))) void transpose_row_pairs(const ScatteredRows<uint16_t>& rows,
                                                            int64_t columns, float* to,
                                                            int64_t to_step) {
  alignas(64) float tile[kTile * kTile];
  const int64_t pairs = rows.count() / 2;
  for (int64_t k = 0; k < pairs; k += kTile) {
    const int64_t count = std::min<int64_t>(pairs - k, kTile);
    for (int64_t j = 0; j < columns; j += kTile) {
      __m512i a[kTile];
      for (int64_t i = 0; i < kTile; ++i) {
        const int64_t even = 2 * (k + std::min(i, count - 1));
        a[i] = load_pairs(rows.row(even) + j, rows.row(even + 1) + j);
      }
      float* const place = to + j * to_step + k;
      store_transposed(a, count == kTile ? place : tile, count == kTile ? to_step : kTile);
      if (count < kTile) copy_columns(tile, count, place, to_step);
    }
  }
}

void pack_columns(const float* matrix, int64_t column_step, int64_t depth, int64_t columns,
                  float* panels) {
  const int64_t whole_depth = depth / kTile * kTile;
  for (int64_t first = 0; first < columns;
       first += kPanelColumns, panels += depth * kPanelColumns) {
    for (int64_t j = 0; j < kPanelColumns; j += kTile) {
      const int64_t count = std::clamp<int64_t>(columns - first - j, 0, kTile);
      const float* const from = matrix + (first + j) * column_step;
      float* const to = panels + j;
      const int64_t tiles = count == kTile ? whole_depth : 0;
      for (int64_t k = 0; k < tiles; k += kTile)
        transpose_vectors(from + k, column_step, to + k * kPanelColumns, kPanelColumns);
      for (int64_t k = tiles; k < depth; ++k) {
        for (int64_t i = 0; i < kTile; ++i)
          to[k * kPanelColumns + i] = i < count ? from[i * column_step + k] : 0.0F;
      }
    }
  }
}

__attribute__((target("avx512f,avx512bw"))) void pack_rows(const float* matrix, int64_t row_step,
                                                           int64_t depth, int64_t columns,
                                                           float* panels) {
  for (int64_t first = 0; first < columns; first += kPanelColumns) {
    const int64_t count = std::min(columns - first, kPanelColumns);
    const auto lanes = static_cast<uint32_t>((uint64_t{1} << count) - 1);
    const auto low = static_cast<__mmask16>(lanes);
    const auto high = static_cast<__mmask16>(lanes >> kTile);
    const float* from = matrix + first;
    for (int64_t k = 0; k < depth; ++k, from += row_step, panels += kPanelColumns) {
      _mm512_storeu_ps(panels, _mm512_maskz_loadu_ps(low, from));
      _mm512_storeu_ps(panels + kTile, _mm512_maskz_loadu_ps(high, from + kTile));
    }
  }
}

__attribute__((target("avx512f,avx512bw"))) void pack_row_pairs(const uint16_t* matrix,
                                                                int64_t row_step, int64_t depth,
                                                                int64_t columns, float* panels) {
  alignas(64)
      uint16_t order[2][32];  // of the pairs' elements: of the even row, then of the odd one
  for (int i = 0; i < 32; ++i) {
    order[0][i] = static_cast<uint16_t>(i / 2 + i % 2 * 32);
    order[1][i] = static_cast<uint16_t>(16 + i / 2 + i % 2 * 32);
  }
  const __m512i low = _mm512_load_si512(order[0]);
  const __m512i high = _mm512_load_si512(order[1]);
  for (int64_t first = 0; first < columns; first += kPanelColumns) {
    const int64_t count = std::min(columns - first, kPanelColumns);
    const auto mask = static_cast<__mmask32>((uint64_t{1} << count) - 1);
    for (int64_t k = 0; k < depth; k += 2, panels += kPanelColumns) {
      const uint16_t* const row = matrix + k * row_step + first;
      __builtin_prefetch(row + kPackedRowsAhead * row_step);
      __builtin_prefetch(row + (kPackedRowsAhead + 1) * row_step);
      const __m512i even = _mm512_maskz_loadu_epi16(mask, row);
      const __m512i odd = _mm512_maskz_loadu_epi16(mask, row + row_step);
      _mm512_storeu_si512(panels, _mm512_permutex2var_epi16(even, low, odd));
      _mm512_storeu_si512(panels + kTile, _mm512_permutex2var_epi16(even, high, odd));
    }
  }
}

__attribute__((target("avx512f,avx512bw"))) void narrow_to_bf16(const float* from, int64_t count,
                                                                uint16_t* to) {
  for (int64_t at = 0; at < count; at += kTile) {
    const auto mask = static_cast<__mmask16>((1U << std::min<int64_t>(count - at, kTile)) - 1);
    const __m512i x = _mm512_castps_si512(_mm512_maskz_loadu_ps(mask, from + at));
    const __m512i bit = _mm512_and_si512(_mm512_srli_epi32(x, 16), _mm512_set1_epi32(1));
    const __m512i rounded = _mm512_add_epi32(x, _mm512_add_epi32(bit, _mm512_set1_epi32(0x7fff)));
    const __m512i quiet = _mm512_or_si512(x, _mm512_set1_epi32(0x400000));
    const __mmask16 is_nan =
        _mm512_cmp_ps_mask(_mm512_castsi512_ps(x), _mm512_castsi512_ps(x), _CMP_UNORD_Q);
    const __m512i bits = _mm512_mask_blend_epi32(is_nan, rounded, quiet);
    const __m256i halves = _mm512_cvtepi32_epi16(_mm512_srli_epi32(bits, 16));
    if (count - at >= kTile) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + at), halves);
    } else {
      alignas(32) uint16_t last[kTile];
      _mm256_store_si256(reinterpret_cast<__m256i*>(last), halves);
      std::copy_n(last, count - at, to + at);
    }
  }
}

#else

void pack_columns(const float*, int64_t, int64_t, int64_t, float*) {}
void pack_rows(const float*, int64_t, int64_t, int64_t, float*) {}
void pack_row_pairs(const uint16_t*, int64_t, int64_t, int64_t, float*) {}
void transpose_rows(const ScatteredRows<float>&, int64_t, float*, int64_t) {}
void transpose_row_pairs(const ScatteredRows<uint16_t>&, int64_t, float*, int64_t) {}
void narrow_to_bf16(const float*, int64_t, uint16_t*) {}

#endif

void pack_panels(const float* matrix, int64_t row_step, int64_t column_step, int64_t depth,
                 int64_t columns, float* panels) {
  if (row_step == 1) return pack_columns(matrix, column_step, depth, columns, panels);
  if (column_step == 1) return pack_rows(matrix, row_step, depth, columns, panels);
  for (int64_t first = 0; first < columns; first += kPanelColumns) {
    const int64_t count = std::min(columns - first, kPanelColumns);
    for (int64_t k = 0; k < depth; ++k, panels += kPanelColumns) {
      const float* const from = matrix + k * row_step + first * column_step;
      for (int64_t j = 0; j < count; ++j) panels[j] = from[j * column_step];
      std::fill(panels + count, panels + kPanelColumns, 0.0F);
    }
  }
}

}  // namespace systole::cpu
