// Discrete Fourier transforms of many lines of one length at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace systole::cpu {

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

  int64_t length() const { return length_; }
  // Elements that run() needs in `work` for one line.
  int64_t work_per_line() const;
  // Transforms `lines` lines: element j of line l is re[j * lines + l] + i im[j * lines + l].
  // `work` has lines * work_per_line() elements. (The inverse is the same with re and im exchanged,
  // divided by the length.)
  void run(T* re, T* im, T* work, int64_t lines) const;

 private:
  struct Pass;
  struct Convolution;

  void run_passes(T* re, T* im, T* work, int64_t lines) const;
  void run_convolution(T* re, T* im, T* work, int64_t lines) const;

  int64_t length_;
  std::vector<Pass> passes_;
  std::unique_ptr<Convolution> convolution_;  // of lengths with large prime factors
};

extern template class FftPlan<float>;
extern template class FftPlan<double>;

}  // namespace systole::cpu
