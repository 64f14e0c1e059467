#include "systole/backends/cpu/kernels/fft_plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numbers>

namespace systole::cpu {
namespace {

// The largest prime factor that a pass computes by the definition.
constexpr int64_t kMaxFactor = 31;
constexpr size_t kVectorBytes = 32;

// As many elements as a register of AVX has. Without AVX the compiler uses two registers.
template <class T>
struct VectorOf {
  using Type [[gnu::vector_size(kVectorBytes), gnu::aligned(alignof(T)), gnu::may_alias]] = T;
  static constexpr int64_t kSize = kVectorBytes / sizeof(T);
};

template <class X>
struct ComplexOf {
  X re;
  X im;
};

// Functions that are compiled for the machine of their caller, run_for().
#define SYSTOLE_INLINE [[gnu::always_inline]] inline  // NOLINT(cppcoreguidelines-macro-usage)

// exp(-2 pi i k / n).
ComplexOf<double> root(int64_t k, int64_t n) {
  const long double angle = -2 * std::numbers::pi_v<long double> * static_cast<long double>(k % n) /
                            static_cast<long double>(n);
  return {static_cast<double>(std::cos(angle)), static_cast<double>(std::sin(angle))};
}

template <class X>
SYSTOLE_INLINE void add(ComplexOf<X>& to, const ComplexOf<X>& a, const ComplexOf<X>& b) {
  to = {a.re + b.re, a.im + b.im};
}
template <class X>
SYSTOLE_INLINE void subtract(ComplexOf<X>& to, const ComplexOf<X>& a, const ComplexOf<X>& b) {
  to = {a.re - b.re, a.im - b.im};
}

// Transforms of length R, in place.
template <class X>
SYSTOLE_INLINE void transform(std::array<ComplexOf<X>, 2>& a) {
  const ComplexOf<X> b = a[1];
  subtract(a[1], a[0], b);
  add(a[0], a[0], b);
}

template <class T, class X>
SYSTOLE_INLINE void transform(std::array<ComplexOf<X>, 3>& a) {
  constexpr T kSine = std::numbers::sqrt3_v<T> / 2;
  ComplexOf<X> sum;
  ComplexOf<X> difference;
  add(sum, a[1], a[2]);
  subtract(difference, a[1], a[2]);
  const ComplexOf<X> middle{a[0].re - sum.re * T(0.5), a[0].im - sum.im * T(0.5)};
  const ComplexOf<X> turned{difference.im * kSine, -(difference.re * kSine)};
  add(a[0], a[0], sum);
  add(a[1], middle, turned);
  subtract(a[2], middle, turned);
}

template <class X>
SYSTOLE_INLINE void transform(std::array<ComplexOf<X>, 4>& a) {
  ComplexOf<X> even_sum;
  ComplexOf<X> even_difference;
  ComplexOf<X> odd_sum;
  ComplexOf<X> odd_difference;
  add(even_sum, a[0], a[2]);
  subtract(even_difference, a[0], a[2]);
  add(odd_sum, a[1], a[3]);
  subtract(odd_difference, a[1], a[3]);
  const ComplexOf<X> turned{odd_difference.im, -odd_difference.re};
  add(a[0], even_sum, odd_sum);
  add(a[1], even_difference, turned);
  subtract(a[2], even_sum, odd_sum);
  subtract(a[3], even_difference, turned);
}

template <class T, class X>
SYSTOLE_INLINE void transform(std::array<ComplexOf<X>, 5>& a) {
  constexpr T kCos1 = T(0.309016994374947424102293417182819059L);
  constexpr T kCos2 = T(-0.809016994374947424102293417182819059L);
  constexpr T kSin1 = T(0.951056516295153572116439333379382143L);
  constexpr T kSin2 = T(0.587785252292473129168705954639072769L);
  ComplexOf<X> sum1;
  ComplexOf<X> sum2;
  ComplexOf<X> difference1;
  ComplexOf<X> difference2;
  add(sum1, a[1], a[4]);
  subtract(difference1, a[1], a[4]);
  add(sum2, a[2], a[3]);
  subtract(difference2, a[2], a[3]);
  const ComplexOf<X> middle1{a[0].re + sum1.re * kCos1 + sum2.re * kCos2,
                             a[0].im + sum1.im * kCos1 + sum2.im * kCos2};
  const ComplexOf<X> middle2{a[0].re + sum1.re * kCos2 + sum2.re * kCos1,
                             a[0].im + sum1.im * kCos2 + sum2.im * kCos1};
  const ComplexOf<X> turned1{difference1.im * kSin1 + difference2.im * kSin2,
                             -(difference1.re * kSin1 + difference2.re * kSin2)};
  const ComplexOf<X> turned2{difference1.im * kSin2 - difference2.im * kSin1,
                             -(difference1.re * kSin2 - difference2.re * kSin1)};
  a[0] = {a[0].re + sum1.re + sum2.re, a[0].im + sum1.im + sum2.im};
  add(a[1], middle1, turned1);
  add(a[2], middle2, turned2);
  subtract(a[3], middle2, turned2);
  subtract(a[4], middle1, turned1);
}

template <class T, class X, size_t R>
SYSTOLE_INLINE void transform_of(std::array<ComplexOf<X>, R>& a) {
  if constexpr (R == 3 || R == 5) {
    transform<T>(a);
  } else {
    transform(a);
  }
}

}  // namespace

// One pass: from lines of n = factor * rest elements, at distance `stride`, to `factor` times as
// many lines of `rest` elements.
template <class T>
struct FftPlan<T>::Pass {
  int64_t factor;
  int64_t rest;
  int64_t stride;  // the product of the factors of the passes before
  std::vector<ComplexOf<T>>
      twiddle;  // of result k of group p: [p * factor + k], exp(-2 pi i p k / n)
  std::vector<ComplexOf<T>>
      roots;  // of a factor without a function of its own: exp(-2 pi i j / factor)
};

template <class T>
struct FftPlan<T>::Convolution {
  FftPlan<T> plan;                   // of a power of two, at least twice the length
  std::vector<ComplexOf<T>> chirp;   // exp(-pi i j j / length)
  std::vector<ComplexOf<T>> kernel;  // the transform of its conjugate, divided by the plan's length
};

namespace {

// The elements of one group: `step` apart in the operand, of which each is `count` numbers long.
template <class T, class X, size_t R>
SYSTOLE_INLINE void transform_at(const T* re, const T* im, int64_t step, T* to_re, T* to_im,
                                 int64_t to_step, const ComplexOf<T>* twiddle) {
  std::array<ComplexOf<X>, R> a;
  for (size_t k = 0; k < R; ++k) {
    const auto at = static_cast<int64_t>(k) * step;
    a[k] = {*reinterpret_cast<const X*>(re + at), *reinterpret_cast<const X*>(im + at)};
  }
  transform_of<T>(a);
  *reinterpret_cast<X*>(to_re) = a[0].re;
  *reinterpret_cast<X*>(to_im) = a[0].im;
  for (size_t k = 1; k < R; ++k) {
    const auto at = static_cast<int64_t>(k) * to_step;
    const ComplexOf<T> w = twiddle[k];
    *reinterpret_cast<X*>(to_re + at) = a[k].re * w.re - a[k].im * w.im;
    *reinterpret_cast<X*>(to_im + at) = a[k].re * w.im + a[k].im * w.re;
  }
}

template <class T, size_t R>
SYSTOLE_INLINE void run_pass(const T* re, const T* im, T* to_re, T* to_im, int64_t rest,
                             int64_t width, const ComplexOf<T>* twiddle) {
  using V = typename VectorOf<T>::Type;
  constexpr int64_t kSize = VectorOf<T>::kSize;
  constexpr auto kFactor = static_cast<int64_t>(R);
  for (int64_t p = 0; p < rest; ++p) {
    const int64_t from = p * width;
    const int64_t to = p * kFactor * width;
    const ComplexOf<T>* const w = twiddle + p * kFactor;
    int64_t q = 0;
    for (; q + kSize <= width; q += kSize) {
      transform_at<T, V, R>(re + from + q, im + from + q, rest * width, to_re + to + q,
                            to_im + to + q, width, w);
    }
    for (; q < width; ++q) {
      transform_at<T, T, R>(re + from + q, im + from + q, rest * width, to_re + to + q,
                            to_im + to + q, width, w);
    }
  }
}

// Any factor, by the definition.
template <class T>
SYSTOLE_INLINE void run_any_pass(const T* re, const T* im, T* to_re, T* to_im, int64_t factor,
                                 int64_t rest, int64_t width, const ComplexOf<T>* twiddle,
                                 const ComplexOf<T>* roots) {
  for (int64_t p = 0; p < rest; ++p) {
    for (int64_t k = 0; k < factor; ++k) {
      T* const out_re = to_re + (p * factor + k) * width;
      T* const out_im = to_im + (p * factor + k) * width;
      std::fill_n(out_re, width, T(0));
      std::fill_n(out_im, width, T(0));
      for (int64_t j = 0; j < factor; ++j) {
        const ComplexOf<T> a = roots[j * k % factor];
        const ComplexOf<T> b = twiddle[p * factor + k];
        const ComplexOf<T> w{a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
        const T* const in_re = re + (p + rest * j) * width;
        const T* const in_im = im + (p + rest * j) * width;
        for (int64_t q = 0; q < width; ++q) {
          out_re[q] += in_re[q] * w.re - in_im[q] * w.im;
          out_im[q] += in_re[q] * w.im + in_im[q] * w.re;
        }
      }
    }
  }
}

template <class T, class Pass>
SYSTOLE_INLINE void run_one(const Pass& pass, const T* re, const T* im, T* to_re, T* to_im,
                            int64_t lines) {
  const int64_t width = pass.stride * lines;
  const ComplexOf<T>* const w = pass.twiddle.data();
  switch (pass.factor) {
    case 2:
      return run_pass<T, 2>(re, im, to_re, to_im, pass.rest, width, w);
    case 3:
      return run_pass<T, 3>(re, im, to_re, to_im, pass.rest, width, w);
    case 4:
      return run_pass<T, 4>(re, im, to_re, to_im, pass.rest, width, w);
    case 5:
      return run_pass<T, 5>(re, im, to_re, to_im, pass.rest, width, w);
    default:
      return run_any_pass<T>(re, im, to_re, to_im, pass.factor, pass.rest, width, w,
                             pass.roots.data());
  }
}

template <class T, class Pass>
void run_portable(const Pass& pass, const T* re, const T* im, T* to_re, T* to_im, int64_t lines) {
  run_one<T>(pass, re, im, to_re, to_im, lines);
}

#if defined(__x86_64__)
template <class T, class Pass>
[[gnu::target("avx2,fma")]] void run_avx2(const Pass& pass, const T* re, const T* im, T* to_re,
                                          T* to_im, int64_t lines) {
  run_one<T>(pass, re, im, to_re, to_im, lines);
}
#endif

template <class T, class Pass>
void run_for_machine(const Pass& pass, const T* re, const T* im, T* to_re, T* to_im,
                     int64_t lines) {
#if defined(__x86_64__)
  static const bool has_avx2 =
      __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  if (has_avx2) return run_avx2<T>(pass, re, im, to_re, to_im, lines);
#endif
  run_portable<T>(pass, re, im, to_re, to_im, lines);
}

#undef SYSTOLE_INLINE

// The factors of n, 4 first; empty if one is larger than kMaxFactor.
std::vector<int64_t> factors_of(int64_t n) {
  std::vector<int64_t> factors;
  for (const int64_t factor : {4, 2, 3, 5}) {
    for (; n % factor == 0; n /= factor) factors.push_back(factor);
  }
  for (int64_t factor = 7; factor <= kMaxFactor && n > 1; factor += 2) {
    for (; n % factor == 0; n /= factor) factors.push_back(factor);
  }
  if (n > 1) return {};
  return factors;
}

template <class T>
ComplexOf<T> rounded(const ComplexOf<double>& z) {
  return {static_cast<T>(z.re), static_cast<T>(z.im)};
}

}  // namespace

template <class T>
FftPlan<T>::FftPlan(int64_t length) : length_(length) {
  if (length <= 1) return;
  int64_t n = length;
  int64_t stride = 1;
  const std::vector<int64_t> factors = factors_of(length);
  for (const int64_t factor : factors) {
    Pass pass{.factor = factor, .rest = n / factor, .stride = stride, .twiddle = {}, .roots = {}};
    for (int64_t p = 0; p < pass.rest; ++p) {
      for (int64_t k = 0; k < factor; ++k) pass.twiddle.push_back(rounded<T>(root(p * k, n)));
    }
    for (int64_t j = 0; factor > 5 && j < factor; ++j)
      pass.roots.push_back(rounded<T>(root(j, factor)));
    passes_.push_back(std::move(pass));
    n /= factor;
    stride *= factor;
  }
  if (!factors.empty()) return;

  int64_t padded = 1;
  while (padded < 2 * length - 1) padded *= 2;
  convolution_ = std::make_unique<Convolution>(Convolution{FftPlan<T>(padded), {}, {}});
  std::vector<T> re(static_cast<size_t>(padded));
  std::vector<T> im(static_cast<size_t>(padded));
  for (int64_t j = 0; j < length; ++j) {
    // j * j modulo 2 * length, without overflow.
    const auto square = static_cast<int64_t>(static_cast<__int128>(j) * j % (2 * length));
    const ComplexOf<double> w = root(square, 2 * length);
    convolution_->chirp.push_back(rounded<T>(w));
    const auto scale = static_cast<double>(padded);
    for (const int64_t at : {j, (padded - j) % padded}) {
      re[static_cast<size_t>(at)] = static_cast<T>(w.re / scale);
      im[static_cast<size_t>(at)] = static_cast<T>(-w.im / scale);
    }
  }
  std::vector<T> work(static_cast<size_t>(convolution_->plan.work_per_line()));
  convolution_->plan.run(re.data(), im.data(), work.data(), 1);
  for (size_t j = 0; j < re.size(); ++j) convolution_->kernel.push_back({re[j], im[j]});
}

template <class T>
FftPlan<T>::~FftPlan() = default;
template <class T>
FftPlan<T>::FftPlan(FftPlan&&) noexcept = default;
template <class T>
FftPlan<T>& FftPlan<T>::operator=(FftPlan&&) noexcept = default;

template <class T>
int64_t FftPlan<T>::work_per_line() const {
  if (convolution_ == nullptr) return 2 * length_;
  return 2 * convolution_->plan.length() + convolution_->plan.work_per_line();
}

template <class T>
void FftPlan<T>::run(T* re, T* im, T* work, int64_t lines) const {
  if (convolution_ == nullptr) {
    run_passes(re, im, work, lines);
  } else {
    run_convolution(re, im, work, lines);
  }
}

template <class T>
void FftPlan<T>::run_passes(T* re, T* im, T* work, int64_t lines) const {
  const int64_t size = length_ * lines;
  T* from_re = re;
  T* from_im = im;
  T* to_re = work;
  T* to_im = work + size;
  for (const Pass& pass : passes_) {
    run_for_machine<T>(pass, from_re, from_im, to_re, to_im, lines);
    std::swap(from_re, to_re);
    std::swap(from_im, to_im);
  }
  if (from_re == re) return;
  std::memcpy(re, from_re, static_cast<size_t>(size) * sizeof(T));
  std::memcpy(im, from_im, static_cast<size_t>(size) * sizeof(T));
}

// X[k] = chirp[k] * sum over j of (x[j] chirp[j]) conj(chirp[k - j]): a circular convolution.
template <class T>
void FftPlan<T>::run_convolution(T* re, T* im, T* work, int64_t lines) const {
  const FftPlan<T>& plan = convolution_->plan;
  const int64_t size = plan.length() * lines;
  T* const a_re = work;
  T* const a_im = work + size;
  const auto multiply = [lines](const T* x_re, const T* x_im, const ComplexOf<T>& w, T* to_re,
                                T* to_im) {
    for (int64_t l = 0; l < lines; ++l) {
      const T real = x_re[l] * w.re - x_im[l] * w.im;
      to_im[l] = x_re[l] * w.im + x_im[l] * w.re;
      to_re[l] = real;
    }
  };
  for (int64_t j = 0; j < length_; ++j) {
    const int64_t at = j * lines;
    multiply(re + at, im + at, convolution_->chirp[static_cast<size_t>(j)], a_re + at, a_im + at);
  }
  std::fill(a_re + length_ * lines, a_re + size, T(0));
  std::fill(a_im + length_ * lines, a_im + size, T(0));
  plan.run(a_re, a_im, work + 2 * size, lines);
  for (int64_t j = 0; j < plan.length(); ++j) {
    const int64_t at = j * lines;
    multiply(a_re + at, a_im + at, convolution_->kernel[static_cast<size_t>(j)], a_re + at,
             a_im + at);
  }
  plan.run(a_im, a_re, work + 2 * size, lines);  // the inverse
  for (int64_t j = 0; j < length_; ++j) {
    const int64_t at = j * lines;
    multiply(a_re + at, a_im + at, convolution_->chirp[static_cast<size_t>(j)], re + at, im + at);
  }
}

template class FftPlan<float>;
template class FftPlan<double>;

}  // namespace systole::cpu
