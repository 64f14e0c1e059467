#include "systole/backends/cpu/kernels/fft_moves.h"

namespace systole::cpu {
namespace {

// As many vectors as a vector has elements.
template <class T>
struct Vectors {
  FftVector<T> all[static_cast<size_t>(kFftLanes<T>)];
  SYSTOLE_FFT_INLINE auto& operator[](size_t i) { return all[i]; }
};

template <class T>
SYSTOLE_FFT_INLINE FftVector<T>& vector_at(T* x) {
  return *reinterpret_cast<FftVector<T>*>(x);
}
template <class T>
SYSTOLE_FFT_INLINE const FftVector<T>& vector_at(const T* x) {
  return *reinterpret_cast<const FftVector<T>*>(x);
}
template <class T>
SYSTOLE_FFT_INLINE T* numbers(FftComplex<T>* x) {
  return reinterpret_cast<T*>(x);
}
template <class T>
SYSTOLE_FFT_INLINE const T* numbers(const FftComplex<T>* x) {
  return reinterpret_cast<const T*>(x);
}

SYSTOLE_FFT_INLINE void turn_square(Vectors<float>& a) {
  Vectors<float> t;
#pragma GCC unroll 8
  for (size_t i = 0; i < 8; i += 2) {
    t[i] = __builtin_shufflevector(a[i], a[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    t[i + 1] = __builtin_shufflevector(a[i], a[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  Vectors<float> u;
#pragma GCC unroll 8
  for (size_t i = 0; i < 8; i += 4) {
    u[i] = __builtin_shufflevector(t[i], t[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
    u[i + 1] = __builtin_shufflevector(t[i], t[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    u[i + 2] = __builtin_shufflevector(t[i + 1], t[i + 3], 0, 1, 8, 9, 4, 5, 12, 13);
    u[i + 3] = __builtin_shufflevector(t[i + 1], t[i + 3], 2, 3, 10, 11, 6, 7, 14, 15);
  }
#pragma GCC unroll 8
  for (size_t i = 0; i < 4; ++i) {
    a[i] = __builtin_shufflevector(u[i], u[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    a[i + 4] = __builtin_shufflevector(u[i], u[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

SYSTOLE_FFT_INLINE void turn_square(Vectors<double>& a) {
  Vectors<double> t;
#pragma GCC unroll 8
  for (size_t i = 0; i < 4; i += 2) {
    t[i] = __builtin_shufflevector(a[i], a[i + 1], 0, 4, 2, 6);
    t[i + 1] = __builtin_shufflevector(a[i], a[i + 1], 1, 5, 3, 7);
  }
#pragma GCC unroll 8
  for (size_t i = 0; i < 2; ++i) {
    a[i] = __builtin_shufflevector(t[i], t[i + 2], 0, 1, 4, 5);
    a[i + 2] = __builtin_shufflevector(t[i], t[i + 2], 2, 3, 6, 7);
  }
}

// Complex numbers of two vectors to or from their parts.
SYSTOLE_FFT_INLINE void take_apart(FftVector<float>& a, FftVector<float>& b) {
  const FftVector<float> re = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
  b = __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
  a = re;
}
SYSTOLE_FFT_INLINE void take_apart(FftVector<double>& a, FftVector<double>& b) {
  const FftVector<double> re = __builtin_shufflevector(a, b, 0, 2, 4, 6);
  b = __builtin_shufflevector(a, b, 1, 3, 5, 7);
  a = re;
}
SYSTOLE_FFT_INLINE void put_together(FftVector<float>& a, FftVector<float>& b) {
  const FftVector<float> low = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
  b = __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
  a = low;
}
SYSTOLE_FFT_INLINE void put_together(FftVector<double>& a, FftVector<double>& b) {
  const FftVector<double> low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  b = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  a = low;
}

// Half as many elements as lanes are a square of real numbers.
template <class T>
SYSTOLE_FFT_INLINE void load_rows(const FftComplex<T>* from, int64_t step, int64_t length,
                                  FftParts<T> parts) {
  constexpr int64_t kLanes = kFftLanes<T>;
  constexpr int64_t kPart = kLanes / 2;
  int64_t j = 0;
  for (; j + kPart <= length; j += kPart) {
    Vectors<T> a;
#pragma GCC unroll 8
    for (int64_t l = 0; l < kLanes; ++l)
      a[static_cast<size_t>(l)] = vector_at(numbers(from + l * step + j));
    turn_square(a);
#pragma GCC unroll 8
    for (int64_t i = 0; i < kPart; ++i) {
      vector_at(parts.re + (j + i) * kLanes) = a[static_cast<size_t>(2 * i)];
      vector_at(parts.im + (j + i) * kLanes) = a[static_cast<size_t>(2 * i + 1)];
    }
  }
  for (; j < length; ++j) {
#pragma GCC unroll 8
    for (int64_t l = 0; l < kLanes; ++l) {
      parts.re[j * kLanes + l] = from[l * step + j].re;
      parts.im[j * kLanes + l] = from[l * step + j].im;
    }
  }
}

template <class T>
SYSTOLE_FFT_INLINE void store_rows(FftParts<T> parts, int64_t length, T scale, FftComplex<T>* to,
                                   int64_t step) {
  constexpr int64_t kLanes = kFftLanes<T>;
  constexpr int64_t kPart = kLanes / 2;
  int64_t j = 0;
  for (; j + kPart <= length; j += kPart) {
    Vectors<T> a;
#pragma GCC unroll 8
    for (int64_t i = 0; i < kPart; ++i) {
      a[static_cast<size_t>(2 * i)] = vector_at(parts.re + (j + i) * kLanes) * scale;
      a[static_cast<size_t>(2 * i + 1)] = vector_at(parts.im + (j + i) * kLanes) * scale;
    }
    turn_square(a);
#pragma GCC unroll 8
    for (int64_t l = 0; l < kLanes; ++l)
      vector_at(numbers(to + l * step + j)) = a[static_cast<size_t>(l)];
  }
  for (; j < length; ++j) {
#pragma GCC unroll 8
    for (int64_t l = 0; l < kLanes; ++l)
      to[l * step + j] = {parts.re[j * kLanes + l] * scale, parts.im[j * kLanes + l] * scale};
  }
}

template <class T>
SYSTOLE_FFT_INLINE void load_columns(const FftComplex<T>* from, int64_t step, int64_t length,
                                     FftParts<T> parts) {
  constexpr int64_t kLanes = kFftLanes<T>;
  for (int64_t j = 0; j < length; ++j) {
    const T* const x = numbers(from + j * step);
    FftVector<T> a = vector_at(x);
    FftVector<T> b = vector_at(x + kLanes);
    __builtin_prefetch(x + 2 * kLanes, 0, 2);  // of the next group
    take_apart(a, b);
    vector_at(parts.re + j * kLanes) = a;
    vector_at(parts.im + j * kLanes) = b;
  }
}

template <class T>
SYSTOLE_FFT_INLINE void store_columns(FftParts<T> parts, int64_t length, T scale, FftComplex<T>* to,
                                      int64_t step) {
  constexpr int64_t kLanes = kFftLanes<T>;
  for (int64_t j = 0; j < length; ++j) {
    FftVector<T> a = vector_at(parts.re + j * kLanes) * scale;
    FftVector<T> b = vector_at(parts.im + j * kLanes) * scale;
    put_together(a, b);
    T* const x = numbers(to + j * step);
    vector_at(x) = a;
    vector_at(x + kLanes) = b;
  }
}

template <class T>
SYSTOLE_FFT_INLINE void load_real_rows(const T* from, int64_t step, int64_t length, T* to) {
  constexpr int64_t kLanes = kFftLanes<T>;
  int64_t j = 0;
  for (; j + kLanes <= length; j += kLanes) {
    Vectors<T> a;
#pragma GCC unroll 8
    for (int64_t l = 0; l < kLanes; ++l) a[static_cast<size_t>(l)] = vector_at(from + l * step + j);
    turn_square(a);
#pragma GCC unroll 8
    for (int64_t i = 0; i < kLanes; ++i)
      vector_at(to + (j + i) * kLanes) = a[static_cast<size_t>(i)];
  }
  for (; j < length; ++j) {
#pragma GCC unroll 8
    for (int64_t l = 0; l < kLanes; ++l) to[j * kLanes + l] = from[l * step + j];
  }
}

template <class T>
SYSTOLE_FFT_INLINE void store_real_rows(const T* from, int64_t length, T scale, T* to,
                                        int64_t step) {
  constexpr int64_t kLanes = kFftLanes<T>;
  int64_t j = 0;
  for (; j + kLanes <= length; j += kLanes) {
    Vectors<T> a;
#pragma GCC unroll 8
    for (int64_t i = 0; i < kLanes; ++i)
      a[static_cast<size_t>(i)] = vector_at(from + (j + i) * kLanes) * scale;
    turn_square(a);
#pragma GCC unroll 8
    for (int64_t l = 0; l < kLanes; ++l) vector_at(to + l * step + j) = a[static_cast<size_t>(l)];
  }
  for (; j < length; ++j) {
#pragma GCC unroll 8
    for (int64_t l = 0; l < kLanes; ++l) to[l * step + j] = from[j * kLanes + l] * scale;
  }
}

template <class T>
SYSTOLE_FFT_INLINE void turn(FftParts<T> parts, int64_t length, const FftComplex<T>* each,
                             FftParts<const T> lanes) {
  for (int64_t j = 0; j < length; ++j) {
    const int64_t at = j * kFftLanes<T>;
    const FftVector<T> w_re =
        vector_at(lanes.re + at) * each[j].re - vector_at(lanes.im + at) * each[j].im;
    const FftVector<T> w_im =
        vector_at(lanes.re + at) * each[j].im + vector_at(lanes.im + at) * each[j].re;
    const FftVector<T> re = vector_at(parts.re + at);
    const FftVector<T> im = vector_at(parts.im + at);
    vector_at(parts.re + at) = re * w_re - im * w_im;
    vector_at(parts.im + at) = re * w_im + im * w_re;
  }
}

template <class T>
SYSTOLE_FFT_INLINE void separate(FftParts<T> both, int64_t length, FftParts<T> first,
                                 FftParts<T> second) {
  for (int64_t k = 0; k <= length / 2; ++k) {
    const int64_t at = k * kFftLanes<T>;
    const int64_t mirrored = (k == 0 ? 0 : length - k) * kFftLanes<T>;
    const FftVector<T> re = vector_at(both.re + at) * T(0.5);
    const FftVector<T> im = vector_at(both.im + at) * T(0.5);
    const FftVector<T> other_re = vector_at(both.re + mirrored) * T(0.5);
    const FftVector<T> other_im = vector_at(both.im + mirrored) * T(0.5);
    vector_at(first.re + at) = re + other_re;
    vector_at(first.im + at) = im - other_im;
    vector_at(second.re + at) = im + other_im;
    vector_at(second.im + at) = other_re - re;
  }
}

template <class T>
SYSTOLE_FFT_INLINE void join_spectra(FftParts<T> first, FftParts<T> second, int64_t length,
                                     FftParts<T> both) {
  for (int64_t k = 0; k <= length / 2; ++k) {
    const int64_t at = k * kFftLanes<T>;
    const FftVector<T> a_re = vector_at(first.re + at);
    const FftVector<T> b_re = vector_at(second.re + at);
    if (k == 0 || 2 * k == length) {
      vector_at(both.re + at) = a_re;
      vector_at(both.im + at) = b_re;
      continue;
    }
    const int64_t mirrored = (length - k) * kFftLanes<T>;
    const FftVector<T> a_im = vector_at(first.im + at);
    const FftVector<T> b_im = vector_at(second.im + at);
    vector_at(both.re + at) = a_re - b_im;
    vector_at(both.im + at) = a_im + b_re;
    vector_at(both.re + mirrored) = a_re + b_im;
    vector_at(both.im + mirrored) = b_re - a_im;
  }
}

// The functions above, compiled for one kind of machine.
#define SYSTOLE_FFT_MOVES(NAME, ...)                                                             \
  template <class T>                                                                             \
  struct NAME {                                                                                  \
    using Complex = FftComplex<T>;                                                               \
    using Parts = FftParts<T>;                                                                   \
    __VA_ARGS__ static void rows_in(const Complex* x, int64_t step, int64_t n, Parts y) {        \
      load_rows<T>(x, step, n, y);                                                               \
    }                                                                                            \
    __VA_ARGS__ static void rows_out(Parts x, int64_t n, T scale, Complex* y, int64_t step) {    \
      store_rows<T>(x, n, scale, y, step);                                                       \
    }                                                                                            \
    __VA_ARGS__ static void columns_in(const Complex* x, int64_t step, int64_t n, Parts y) {     \
      load_columns<T>(x, step, n, y);                                                            \
    }                                                                                            \
    __VA_ARGS__ static void columns_out(Parts x, int64_t n, T scale, Complex* y, int64_t step) { \
      store_columns<T>(x, n, scale, y, step);                                                    \
    }                                                                                            \
    __VA_ARGS__ static void reals_in(const T* x, int64_t step, int64_t n, T* y) {                \
      load_real_rows<T>(x, step, n, y);                                                          \
    }                                                                                            \
    __VA_ARGS__ static void reals_out(const T* x, int64_t n, T scale, T* y, int64_t step) {      \
      store_real_rows<T>(x, n, scale, y, step);                                                  \
    }                                                                                            \
    __VA_ARGS__ static void turned(Parts x, int64_t n, const Complex* each,                      \
                                   FftParts<const T> lanes) {                                    \
      turn<T>(x, n, each, lanes);                                                                \
    }                                                                                            \
    __VA_ARGS__ static void separated(Parts x, int64_t n, Parts a, Parts b) {                    \
      separate<T>(x, n, a, b);                                                                   \
    }                                                                                            \
    __VA_ARGS__ static void joined(Parts a, Parts b, int64_t n, Parts x) {                       \
      join_spectra<T>(a, b, n, x);                                                               \
    }                                                                                            \
    static constexpr FftMoves<T> kAll{rows_in,   rows_out, columns_in, columns_out, reals_in,    \
                                      reals_out, turned,   separated,  joined};                  \
  }
SYSTOLE_FFT_MOVES(PortableMoves, );
#if defined(__x86_64__)
SYSTOLE_FFT_MOVES(Avx2Moves, [[gnu::target("avx2,fma")]]);
#endif
#undef SYSTOLE_FFT_MOVES

}  // namespace

template <class T>
const FftMoves<T>& fft_moves() {
#if defined(__x86_64__)
  if (has_fft_vectors()) return Avx2Moves<T>::kAll;
#endif
  return PortableMoves<T>::kAll;
}
template const FftMoves<float>& fft_moves();
template const FftMoves<double>& fft_moves();

}  // namespace systole::cpu
