// Moves groups of lines between memory, where numbers are complex and lines lie anyhow, and the
// order that FftPlan works on: kFftLanes lines side by side, real and imaginary parts apart.
#pragma once

#include <cstdint>

#include "systole/backends/cpu/kernels/fft_plan.h"
#include "systole/backends/cpu/kernels/fft_vectors.h"

namespace systole::cpu {

// In `parts`, element j of lane l is at j * kFftLanes + l. `scale` multiplies what is stored.
template <class T>
struct FftMoves {
  // Lane l is the line at l * step.
  void (*load_rows)(const FftComplex<T>* from, int64_t step, int64_t length, FftParts<T> parts);
  void (*store_rows)(FftParts<T> parts, int64_t length, T scale, FftComplex<T>* to, int64_t step);
  // Element j of all lanes is at j * step.
  void (*load_columns)(const FftComplex<T>* from, int64_t step, int64_t length, FftParts<T> parts);
  void (*store_columns)(FftParts<T> parts, int64_t length, T scale, FftComplex<T>* to,
                        int64_t step);
  // Real lines: line l of `to` is the one at l * step.
  void (*load_real_rows)(const T* from, int64_t step, int64_t length, T* to);
  void (*store_real_rows)(const T* from, int64_t length, T scale, T* to, int64_t step);
  // Multiplies element j of lane l by each[j] * lanes[j][l].
  void (*turn)(FftParts<T> parts, int64_t length, const FftComplex<T>* each,
               FftParts<const T> lanes);
  // The spectra of two real lines from that of the complex line whose parts they are: those are
  // (Z[k] + conj Z[n - k]) / 2 and (Z[k] - conj Z[n - k]) / 2i. The first n / 2 + 1 elements.
  void (*separate)(FftParts<T> both, int64_t length, FftParts<T> first, FftParts<T> second);
  // The inverse. The imaginary parts of numbers that are real in the spectrum of a real signal, the
  // first and for even n the last, do not count.
  void (*join)(FftParts<T> first, FftParts<T> second, int64_t length, FftParts<T> both);
};

// Returns the functions for this machine. T is float or double.
template <class T>
const FftMoves<T>& fft_moves();
extern template const FftMoves<float>& fft_moves();
extern template const FftMoves<double>& fft_moves();

}  // namespace systole::cpu
