#include "systole/backends/cpu/kernels/transpose_block.h"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "systole/backends/cpu/kernels/panel_product.h"
#include "systole/backends/cpu/kernels/stream.h"

namespace systole::cpu {
namespace {

struct WideElement {
  uint64_t parts[2];
};

// The same with elements of a type.
template <class T>
struct MatrixPart {
  const T* from;
  int64_t from_step;
  int64_t rows, columns;
  T* to;
  int64_t to_step;

  MatrixPart part(int64_t row, int64_t column, int64_t row_count, int64_t column_count) const {
    return {.from = from + row * from_step + column,
            .from_step = from_step,
            .rows = row_count,
            .columns = column_count,
            .to = to + column * to_step + row,
            .to_step = to_step};
  }
};

template <class T>
void transpose_plainly(const MatrixPart<T>& x) {
  for (int64_t i = 0; i < x.rows; ++i) {
    for (int64_t j = 0; j < x.columns; ++j) x.to[j * x.to_step + i] = x.from[i * x.from_step + j];
  }
}

// Elements of 16 bytes, and of a line.
template <class T>
constexpr auto kPieceElements = static_cast<int64_t>(16 / sizeof(T));
template <class T>
constexpr auto kLineElements = static_cast<int64_t>(kLineBytes / sizeof(T));

#if defined(__x86_64__)

// -- Any host: squares of 16 bytes by 16 bytes, and lines of the result on the stack

__m128i load_16(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
void store_16(void* p, __m128i x) { _mm_storeu_si128(static_cast<__m128i*>(p), x); }

template <class T>
__m128i unpack_16(bool high, __m128i x, __m128i y) {
  if constexpr (sizeof(T) == 1) return high ? _mm_unpackhi_epi8(x, y) : _mm_unpacklo_epi8(x, y);
  if constexpr (sizeof(T) == 2) return high ? _mm_unpackhi_epi16(x, y) : _mm_unpacklo_epi16(x, y);
  if constexpr (sizeof(T) == 4) return high ? _mm_unpackhi_epi32(x, y) : _mm_unpacklo_epi32(x, y);
  return high ? _mm_unpackhi_epi64(x, y) : _mm_unpacklo_epi64(x, y);
}

template <class T>
void transpose_square(const T* from, int64_t from_step, T* to, int64_t to_step) {
  constexpr int64_t kRows = kPieceElements<T>;
  __m128i x[kRows];
#pragma GCC unroll 16
  for (int64_t i = 0; i < kRows; ++i) x[i] = load_16(from + i * from_step);
#pragma GCC unroll 4
  for (int64_t done = 1; done < kRows; done *= 2) {
    __m128i y[kRows];
#pragma GCC unroll 8
    for (int64_t i = 0; i < kRows / 2; ++i) {
      y[2 * i] = unpack_16<T>(false, x[i], x[i + kRows / 2]);
      y[2 * i + 1] = unpack_16<T>(true, x[i], x[i + kRows / 2]);
    }
#pragma GCC unroll 16
    for (int64_t i = 0; i < kRows; ++i) x[i] = y[i];
  }
#pragma GCC unroll 16
  for (int64_t i = 0; i < kRows; ++i) store_16(to + i * to_step, x[i]);
}

// At most a line by a line, through memory that is dense: neither array's lines then crowd the same
// places of the cache.
template <class T>
void transpose_lines(const MatrixPart<T>& x, bool streamed) {
  alignas(kLineBytes) T lines[kLineElements<T> * kLineElements<T>];
  const MatrixPart<T> dense = {.from = x.from,
                               .from_step = x.from_step,
                               .rows = x.rows,
                               .columns = x.columns,
                               .to = lines,
                               .to_step = kLineElements<T>};
  const int64_t rows = x.rows / kPieceElements<T> * kPieceElements<T>;
  const int64_t columns = x.columns / kPieceElements<T> * kPieceElements<T>;
  for (int64_t i = 0; i < rows; i += kPieceElements<T>) {
    for (int64_t j = 0; j < columns; j += kPieceElements<T>) {
      const MatrixPart<T> square = dense.part(i, j, kPieceElements<T>, kPieceElements<T>);
      transpose_square(square.from, square.from_step, square.to, square.to_step);
    }
  }
  transpose_plainly(dense.part(0, columns, rows, x.columns - columns));
  transpose_plainly(dense.part(rows, 0, x.rows - rows, x.columns));
  const auto step_bytes = x.to_step * static_cast<int64_t>(sizeof(T));
  if (streamed && x.rows == kLineElements<T> && step_bytes % kLineBytes == 0)
    return stream_lines(x.to, step_bytes, lines, x.columns);
  for (int64_t j = 0; j < x.columns; ++j) {
    std::memcpy(x.to + j * x.to_step, lines + j * kLineElements<T>,
                static_cast<size_t>(x.rows) * sizeof(T));
  }
}

template <class T>
void transpose_narrowly(const MatrixPart<T>& x, bool streamed) {
  for (int64_t i = 0; i < x.rows; i += kLineElements<T>) {
    const int64_t rows = std::min(kLineElements<T>, x.rows - i);
    for (int64_t j = 0; j < x.columns; j += kLineElements<T>)
      transpose_lines(x.part(i, j, rows, std::min(kLineElements<T>, x.columns - j)), streamed);
  }
}

// -- AVX-512: four such squares, one in each lane of 16 bytes

#define SYSTOLE_TRANSPOSE_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl")))

template <class T>
SYSTOLE_TRANSPOSE_AVX512 inline __m512i unpack_wide(bool high, __m512i x, __m512i y) {
  if constexpr (sizeof(T) == 1)
    return high ? _mm512_unpackhi_epi8(x, y) : _mm512_unpacklo_epi8(x, y);
  if constexpr (sizeof(T) == 2)
    return high ? _mm512_unpackhi_epi16(x, y) : _mm512_unpacklo_epi16(x, y);
  if constexpr (sizeof(T) == 4)
    return high ? _mm512_unpackhi_epi32(x, y) : _mm512_unpacklo_epi32(x, y);
  return high ? _mm512_unpackhi_epi64(x, y) : _mm512_unpacklo_epi64(x, y);
}

// Lane by lane.
template <class T>
SYSTOLE_TRANSPOSE_AVX512 inline void transpose_lanes(__m512i* x) {
  constexpr int64_t kRows = kPieceElements<T>;
#pragma GCC unroll 4
  for (int64_t done = 1; done < kRows; done *= 2) {
    __m512i y[kRows];
#pragma GCC unroll 8
    for (int64_t i = 0; i < kRows / 2; ++i) {
      y[2 * i] = unpack_wide<T>(false, x[i], x[i + kRows / 2]);
      y[2 * i + 1] = unpack_wide<T>(true, x[i], x[i + kRows / 2]);
    }
#pragma GCC unroll 16
    for (int64_t i = 0; i < kRows; ++i) x[i] = y[i];
  }
}

inline uint64_t first_bits(int64_t count) {
  return count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
}

SYSTOLE_TRANSPOSE_AVX512 inline __m128i load_piece(const void* p, __mmask16 bytes, bool all) {
  return all ? _mm_loadu_si128(static_cast<const __m128i*>(p)) : _mm_maskz_loadu_epi8(bytes, p);
}

// A line of rows by 16 bytes of columns.
template <class T, bool kAll, bool kStreamed>
SYSTOLE_TRANSPOSE_AVX512 inline void transpose_strip(const MatrixPart<T>& x) {
  constexpr int64_t kRows = kPieceElements<T>;
  const auto piece =
      static_cast<__mmask16>(first_bits(x.columns * static_cast<int64_t>(sizeof(T))));
  // Rows that there are not are the first one's elements, which are not stored.
  const auto row = [&](int64_t i) {
    return kAll || i < x.rows ? x.from + i * x.from_step : x.from;
  };
  __m512i lanes[kRows];
#pragma GCC unroll 16
  for (int64_t i = 0; i < kRows; ++i) {
    __m512i all = _mm512_castsi128_si512(load_piece(row(i), piece, kAll));
    all = _mm512_mask_broadcast_i32x4(all, 0x00f0, load_piece(row(i + kRows), piece, kAll));
    all = _mm512_mask_broadcast_i32x4(all, 0x0f00, load_piece(row(i + 2 * kRows), piece, kAll));
    lanes[i] =
        _mm512_mask_broadcast_i32x4(all, 0xf000, load_piece(row(i + 3 * kRows), piece, kAll));
  }
  transpose_lanes<T>(lanes);
  const uint64_t line = first_bits(x.rows * static_cast<int64_t>(sizeof(T)));
#pragma GCC unroll 16
  for (int64_t j = 0; j < kRows; ++j) {
    T* const to = x.to + j * x.to_step;
    if (!kAll) {
      if (j < x.columns) _mm512_mask_storeu_epi8(to, line, lanes[j]);
    } else if (kStreamed) {
      _mm512_stream_si512(reinterpret_cast<__m512i*>(to), lanes[j]);
    } else {
      _mm512_storeu_si512(to, lanes[j]);
    }
  }
}

// A line of rows.
template <class T>
SYSTOLE_TRANSPOSE_AVX512 void transpose_rows(const MatrixPart<T>& x, bool streamed) {
  int64_t j = 0;
  if (x.rows == kLineElements<T>) {
    for (; j + kPieceElements<T> <= x.columns; j += kPieceElements<T>) {
      const MatrixPart<T> strip = x.part(0, j, x.rows, kPieceElements<T>);
      streamed ? transpose_strip<T, true, true>(strip) : transpose_strip<T, true, false>(strip);
    }
  }
  for (; j < x.columns; j += kPieceElements<T>)
    transpose_strip<T, false, false>(
        x.part(0, j, x.rows, std::min(kPieceElements<T>, x.columns - j)));
}

// The same where the rows crowd the same places of the cache: they are read once, a line of each.
template <class T>
SYSTOLE_TRANSPOSE_AVX512 void transpose_crowded_rows(const MatrixPart<T>& x, bool streamed) {
  alignas(kLineBytes) T lines[kLineElements<T> * kLineElements<T>];
  for (int64_t j = 0; j < x.columns; j += kLineElements<T>) {
    MatrixPart<T> part = x.part(0, j, x.rows, std::min(kLineElements<T>, x.columns - j));
    const uint64_t bytes = first_bits(part.columns * static_cast<int64_t>(sizeof(T)));
    for (int64_t i = 0; i < x.rows; ++i) {
      _mm512_store_si512(lines + i * kLineElements<T>,
                         _mm512_maskz_loadu_epi8(bytes, part.from + i * part.from_step));
    }
    part.from = lines;
    part.from_step = kLineElements<T>;
    transpose_rows(part, streamed);
  }
}

// Whether a line of rows, some to one set of a cache of 64 sets of 8 lines, might not stay there
// until all of its bytes are read.
template <class T>
bool crowds_cache(const MatrixPart<T>& x) {
  constexpr int64_t kSets = 64;
  constexpr int64_t kSafe = 4;
  const int64_t step = x.from_step * static_cast<int64_t>(sizeof(T));
  const int64_t apart = std::min<int64_t>(step & -step, kSets * kLineBytes);
  return x.columns > kPieceElements<T> && x.rows * apart > kSafe * kSets * kLineBytes;
}

SYSTOLE_TRANSPOSE_AVX512 inline __m128i lane_of(__m512i x, int64_t k) {
  switch (k) {
    case 0:
      return _mm512_castsi512_si128(x);
    case 1:
      return _mm512_extracti32x4_epi32(x, 1);
    case 2:
      return _mm512_extracti32x4_epi32(x, 2);
    default:
      return _mm512_extracti32x4_epi32(x, 3);
  }
}

// Rows of which a column has at most 16 bytes: lines of the rows are read, and columns written one
// by one.
template <class T>
SYSTOLE_TRANSPOSE_AVX512 void transpose_few_rows(const MatrixPart<T>& x) {
  constexpr int64_t kRows = kPieceElements<T>;
  const auto piece = static_cast<__mmask16>(first_bits(x.rows * static_cast<int64_t>(sizeof(T))));
  // What is stored behind a column is overwritten by the next ones.
  const int64_t columns_behind = x.rows == kRows ? 0 : x.to_step == x.rows ? kRows : x.columns;
  for (int64_t j = 0; j < x.columns; j += kLineElements<T>) {
    const int64_t count = std::min(kLineElements<T>, x.columns - j);
    const uint64_t bytes = first_bits(count * static_cast<int64_t>(sizeof(T)));
    __m512i lanes[kRows];
#pragma GCC unroll 16
    for (int64_t i = 0; i < kRows; ++i) {
      lanes[i] = i < x.rows ? _mm512_maskz_loadu_epi8(bytes, x.from + i * x.from_step + j)
                            : _mm512_setzero_si512();
    }
    transpose_lanes<T>(lanes);
    T* const to = x.to + j * x.to_step;
    if (j + kLineElements<T> + columns_behind <= x.columns) {
#pragma GCC unroll 4
      for (int64_t k = 0; k < 4; ++k) {
#pragma GCC unroll 16
        for (int64_t i = 0; i < kRows; ++i)
          store_16(to + (k * kRows + i) * x.to_step, lane_of(lanes[i], k));
      }
      continue;
    }
    alignas(kLineBytes) T columns[kRows * kLineElements<T>];
#pragma GCC unroll 16
    for (int64_t i = 0; i < kRows; ++i)
      _mm512_store_si512(columns + i * kLineElements<T>, lanes[i]);
    for (int64_t k = 0; k < count; ++k) {
      const T* const column = columns + k % kRows * kLineElements<T> + k / kRows * kRows;
      _mm_mask_storeu_epi8(to + k * x.to_step, piece, load_16(column));
    }
  }
}

template <class T>
SYSTOLE_TRANSPOSE_AVX512 void transpose_widely(const MatrixPart<T>& x, bool streamed) {
  if (x.rows <= kPieceElements<T> && x.columns >= kLineElements<T>) return transpose_few_rows(x);
  for (int64_t i = 0; i < x.rows; i += kLineElements<T>) {
    const MatrixPart<T> part = x.part(i, 0, std::min(kLineElements<T>, x.rows - i), x.columns);
    const bool whole = reinterpret_cast<uintptr_t>(part.to) % kLineBytes == 0 &&
                       part.to_step * static_cast<int64_t>(sizeof(T)) % kLineBytes == 0;
    crowds_cache(part) ? transpose_crowded_rows(part, streamed && whole)
                       : transpose_rows(part, streamed && whole);
  }
}

template <class T>
void transpose_typed(const MatrixPart<T>& x, bool streamed) {
  static const bool wide = host_has_avx512() && __builtin_cpu_supports("avx512vl") != 0;
  wide ? transpose_widely(x, streamed) : transpose_narrowly(x, streamed);
}

#else

template <class T>
void transpose_typed(const MatrixPart<T>& x, bool) {
  transpose_plainly(x);
}

#endif

template <class T>
void transpose_as(const TransposedBlock& x, bool streamed) {
  transpose_typed(MatrixPart<T>{.from = static_cast<const T*>(x.from),
                                .from_step = x.from_step,
                                .rows = x.rows,
                                .columns = x.columns,
                                .to = static_cast<T*>(x.to),
                                .to_step = x.to_step},
                  streamed);
}

}  // namespace

void transpose_block(const TransposedBlock& block, int64_t element_bytes, bool streamed) {
  switch (element_bytes) {
    case 1:
      return transpose_as<uint8_t>(block, streamed);
    case 2:
      return transpose_as<uint16_t>(block, streamed);
    case 4:
      return transpose_as<uint32_t>(block, streamed);
    case 8:
      return transpose_as<uint64_t>(block, streamed);
    default:
      return transpose_as<WideElement>(block, streamed);
  }
}

}  // namespace systole::cpu
