// Discrete Fourier transforms of many lines of one length at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace systole::cpu {

// The real and the imaginary parts of many numbers.
template <class T>
struct FftParts {
  T* re;
  T* im;
};

// What to allocate for this many elements: arrays that follow each other do not begin at the same
// place of a cache, in which powers of two would collide.
constexpr int64_t fft_size(int64_t elements) { return (elements + 15) / 16 * 16 + 80; }

// The transform of lines of `length` elements, X[k] = sum over j of x[j] exp(-2 pi i j k / length).
// Lengths whose prime factors are small take Stockham's algorithm (each pass splits off a factor
// and leaves the result in order), others Bluestein's (a convolution of a length that is a power of
// two). T is float or double. Immutable, so any number of threads may use it.
template <class T>
class FftPlan {
 public:
  explicit FftPlan(int64_t length);
  ~FftPlan();
  FftPlan(FftPlan&&) noexcept;
  FftPlan& operator=(FftPlan&&) noexcept;

  // Returns whether lines of this length take Stockham's algorithm.
  static bool has_small_factors(int64_t length);

  int64_t length() const { return length_; }
  // Elements that run() needs in `work`.
  int64_t work_size(int64_t lines) const;
  // Transforms `lines` lines: element j of line l is re[j * lines + l] + i im[j * lines + l].
  // Returns where the result lies: in `data` or in `work`. (The inverse is the same with re and im
  // exchanged, divided by the length.)
  FftParts<T> run(FftParts<T> data, T* work, int64_t lines) const;

 private:
  struct Pass;
  struct Convolution;

  FftParts<T> run_convolution(FftParts<T> data, T* work, int64_t lines) const;

  int64_t length_;
  std::vector<Pass> passes_;
  std::unique_ptr<Convolution> convolution_;  // of lengths with large prime factors
};

extern template class FftPlan<float>;
extern template class FftPlan<double>;

}  // namespace systole::cpu
