#include "systole/backends/cpu/kernels/fft_plan.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <numbers>
#include <utility>

#include "systole/backends/cpu/kernels/fft_vectors.h"

namespace systole::cpu {
namespace {

// The largest prime factor that a pass computes by the definition.
constexpr int64_t kMaxFactor = 31;
template <class X>
SYSTOLE_FFT_INLINE void add(FftComplex<X>& to, const FftComplex<X>& a, const FftComplex<X>& b) {
  to = {a.re + b.re, a.im + b.im};
}
template <class X>
SYSTOLE_FFT_INLINE void subtract(FftComplex<X>& to, const FftComplex<X>& a,
                                 const FftComplex<X>& b) {
  to = {a.re - b.re, a.im - b.im};
}

// Transforms of length R, in place.
template <class X>
SYSTOLE_FFT_INLINE void transform(std::array<FftComplex<X>, 2>& a) {
  const FftComplex<X> b = a[1];
  subtract(a[1], a[0], b);
  add(a[0], a[0], b);
}

template <class T, class X>
SYSTOLE_FFT_INLINE void transform(std::array<FftComplex<X>, 3>& a) {
  constexpr T kSine = std::numbers::sqrt3_v<T> / 2;
  FftComplex<X> sum;
  FftComplex<X> difference;
  add(sum, a[1], a[2]);
  subtract(difference, a[1], a[2]);
  const FftComplex<X> middle{a[0].re - sum.re * T(0.5), a[0].im - sum.im * T(0.5)};
  const FftComplex<X> turned{difference.im * kSine, -(difference.re * kSine)};
  add(a[0], a[0], sum);
  add(a[1], middle, turned);
  subtract(a[2], middle, turned);
}

template <class X>
SYSTOLE_FFT_INLINE void transform(FftComplex<X>& a, FftComplex<X>& b, FftComplex<X>& c,
                                  FftComplex<X>& d) {
  FftComplex<X> even_sum;
  FftComplex<X> even_difference;
  FftComplex<X> odd_sum;
  FftComplex<X> odd_difference;
  add(even_sum, a, c);
  subtract(even_difference, a, c);
  add(odd_sum, b, d);
  subtract(odd_difference, b, d);
  const FftComplex<X> turned{odd_difference.im, -odd_difference.re};
  add(a, even_sum, odd_sum);
  add(b, even_difference, turned);
  subtract(c, even_sum, odd_sum);
  subtract(d, even_difference, turned);
}
template <class X>
SYSTOLE_FFT_INLINE void transform(std::array<FftComplex<X>, 4>& a) {
  transform(a[0], a[1], a[2], a[3]);
}

template <class T, class X>
SYSTOLE_FFT_INLINE void transform(std::array<FftComplex<X>, 5>& a) {
  constexpr T kCos1 = T(0.309016994374947424102293417182819059L);
  constexpr T kCos2 = T(-0.809016994374947424102293417182819059L);
  constexpr T kSin1 = T(0.951056516295153572116439333379382143L);
  constexpr T kSin2 = T(0.587785252292473129168705954639072769L);
  FftComplex<X> sum1;
  FftComplex<X> sum2;
  FftComplex<X> difference1;
  FftComplex<X> difference2;
  add(sum1, a[1], a[4]);
  subtract(difference1, a[1], a[4]);
  add(sum2, a[2], a[3]);
  subtract(difference2, a[2], a[3]);
  const FftComplex<X> middle1{a[0].re + sum1.re * kCos1 + sum2.re * kCos2,
                              a[0].im + sum1.im * kCos1 + sum2.im * kCos2};
  const FftComplex<X> middle2{a[0].re + sum1.re * kCos2 + sum2.re * kCos1,
                              a[0].im + sum1.im * kCos2 + sum2.im * kCos1};
  const FftComplex<X> turned1{difference1.im * kSin1 + difference2.im * kSin2,
                              -(difference1.re * kSin1 + difference2.re * kSin2)};
  const FftComplex<X> turned2{difference1.im * kSin2 - difference2.im * kSin1,
                              -(difference1.re * kSin2 - difference2.re * kSin1)};
  a[0] = {a[0].re + sum1.re + sum2.re, a[0].im + sum1.im + sum2.im};
  add(a[1], middle1, turned1);
  add(a[2], middle2, turned2);
  subtract(a[3], middle2, turned2);
  subtract(a[4], middle1, turned1);
}

template <class X>
SYSTOLE_FFT_INLINE void sum_and_difference(FftComplex<X>& to, FftComplex<X>& other,
                                           const FftComplex<X>& a, const FftComplex<X>& b) {
  add(to, a, b);
  subtract(other, a, b);
}

// Two of length 4, of the even and of the odd elements.
template <class T, class X>
SYSTOLE_FFT_INLINE void transform(std::array<FftComplex<X>, 8>& a) {
  constexpr T kHalf = std::numbers::sqrt2_v<T> / 2;
  FftComplex<X> e0 = a[0];
  FftComplex<X> e1 = a[2];
  FftComplex<X> e2 = a[4];
  FftComplex<X> e3 = a[6];
  FftComplex<X> o0 = a[1];
  FftComplex<X> o1 = a[3];
  FftComplex<X> o2 = a[5];
  FftComplex<X> o3 = a[7];
  transform(e0, e1, e2, e3);
  transform(o0, o1, o2, o3);
  const FftComplex<X> turned1{(o1.re + o1.im) * kHalf, (o1.im - o1.re) * kHalf};
  const FftComplex<X> turned2{o2.im, -o2.re};
  const FftComplex<X> turned3{(o3.im - o3.re) * kHalf, (o3.re + o3.im) * -kHalf};
  sum_and_difference(a[0], a[4], e0, o0);
  sum_and_difference(a[1], a[5], e1, turned1);
  sum_and_difference(a[2], a[6], e2, turned2);
  sum_and_difference(a[3], a[7], e3, turned3);
}

template <class T, class X, size_t R>
SYSTOLE_FFT_INLINE void transform_of(std::array<FftComplex<X>, R>& a) {
  if constexpr (R == 3 || R == 5 || R == 8) {
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
  std::vector<FftComplex<T>>
      twiddle;  // of result k of group p: [p * factor + k], exp(-2 pi i p k / n)
  std::vector<FftComplex<T>>
      roots;  // of a factor without a function of its own: exp(-2 pi i j / factor)
};

template <class T>
struct FftPlan<T>::Convolution {
  FftPlan<T> plan;                   // of a power of two, at least twice the length
  std::vector<FftComplex<T>> chirp;  // exp(-pi i j j / length)
  std::vector<FftComplex<T>>
      kernel;  // the transform of its conjugate, divided by the plan's length
};

namespace {

template <class T, class X>
SYSTOLE_FFT_INLINE void load_element(FftComplex<X>& a, const T* re, const T* im, int64_t at) {
  a.re = *reinterpret_cast<const X*>(re + at);
  a.im = *reinterpret_cast<const X*>(im + at);
}

// Times the twiddle factor, which without `turned` is 1.
template <class T, class X, bool turned>
SYSTOLE_FFT_INLINE void store_element(const FftComplex<X>& a, const FftComplex<T>& w, T* re, T* im,
                                      int64_t at, std::bool_constant<turned>) {
  if constexpr (turned) {
    *reinterpret_cast<X*>(re + at) = a.re * w.re - a.im * w.im;
    *reinterpret_cast<X*>(im + at) = a.re * w.im + a.im * w.re;
  } else {
    *reinterpret_cast<X*>(re + at) = a.re;
    *reinterpret_cast<X*>(im + at) = a.im;
  }
}

// The elements of one group: `step` apart in the operand, of which each is `count` numbers long.
// Written out, so that they are in registers.
template <class T, class X, size_t R, bool turned, size_t... k>
SYSTOLE_FFT_INLINE void transform_at(const T* re, const T* im, int64_t step, T* to_re, T* to_im,
                                     int64_t to_step, const FftComplex<T>* twiddle,
                                     std::index_sequence<k...>) {
  std::array<FftComplex<X>, R> a;
  (load_element(a[k], re, im, static_cast<int64_t>(k) * step), ...);
  transform_of<T>(a);
  (store_element(a[k], twiddle[k], to_re, to_im, static_cast<int64_t>(k) * to_step,
                 std::bool_constant < turned && k != 0 > ()),
   ...);
}

template <class T, size_t R, bool turned>
SYSTOLE_FFT_INLINE void run_groups(const T* re, const T* im, T* to_re, T* to_im, int64_t rest,
                                   int64_t width, const FftComplex<T>* twiddle) {
  using V = FftVector<T>;
  constexpr int64_t kSize = kFftLanes<T>;
  constexpr auto kFactor = static_cast<int64_t>(R);
  constexpr auto kAll = std::make_index_sequence<R>();
  for (int64_t p = 0; p < rest; ++p) {
    const int64_t from = p * width;
    const int64_t to = p * kFactor * width;
    const FftComplex<T>* const w = twiddle + p * kFactor;
    int64_t q = 0;
    for (; q + kSize <= width; q += kSize) {
      transform_at<T, V, R, turned>(re + from + q, im + from + q, rest * width, to_re + to + q,
                                    to_im + to + q, width, w, kAll);
    }
    for (; q < width; ++q) {
      transform_at<T, T, R, turned>(re + from + q, im + from + q, rest * width, to_re + to + q,
                                    to_im + to + q, width, w, kAll);
    }
  }
}

template <class T, size_t R>
SYSTOLE_FFT_INLINE void run_pass(const T* re, const T* im, T* to_re, T* to_im, int64_t rest,
                                 int64_t width, const FftComplex<T>* twiddle) {
  if (rest == 1) {
    run_groups<T, R, false>(re, im, to_re, to_im, rest, width, twiddle);
  } else {
    run_groups<T, R, true>(re, im, to_re, to_im, rest, width, twiddle);
  }
}

// Any factor, by the definition.
template <class T>
SYSTOLE_FFT_INLINE void run_any_pass(const T* re, const T* im, T* to_re, T* to_im, int64_t factor,
                                     int64_t rest, int64_t width, const FftComplex<T>* twiddle,
                                     const FftComplex<T>* roots) {
  for (int64_t p = 0; p < rest; ++p) {
    for (int64_t k = 0; k < factor; ++k) {
      T* const out_re = to_re + (p * factor + k) * width;
      T* const out_im = to_im + (p * factor + k) * width;
      std::fill_n(out_re, width, T(0));
      std::fill_n(out_im, width, T(0));
      for (int64_t j = 0; j < factor; ++j) {
        const FftComplex<T> a = roots[j * k % factor];
        const FftComplex<T> b = twiddle[p * factor + k];
        const FftComplex<T> w{a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
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
SYSTOLE_FFT_INLINE void run_one(const Pass& pass, const T* re, const T* im, T* to_re, T* to_im,
                                int64_t lines) {
  const int64_t width = pass.stride * lines;
  const FftComplex<T>* const w = pass.twiddle.data();
  switch (pass.factor) {
    case 2:
      return run_pass<T, 2>(re, im, to_re, to_im, pass.rest, width, w);
    case 3:
      return run_pass<T, 3>(re, im, to_re, to_im, pass.rest, width, w);
    case 4:
      return run_pass<T, 4>(re, im, to_re, to_im, pass.rest, width, w);
    case 5:
      return run_pass<T, 5>(re, im, to_re, to_im, pass.rest, width, w);
    case 8:
      return run_pass<T, 8>(re, im, to_re, to_im, pass.rest, width, w);
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
  if (has_fft_vectors()) return run_avx2<T>(pass, re, im, to_re, to_im, lines);
#endif
  run_portable<T>(pass, re, im, to_re, to_im, lines);
}

// The factors of n, as few as possible; empty if one is larger than kMaxFactor.
std::vector<int64_t> factors_of(int64_t n) {
  std::vector<int64_t> factors;
  int twos = std::countr_zero(static_cast<uint64_t>(n));
  n >>= twos;
  for (; twos == 3 || twos >= 5; twos -= 3) factors.push_back(8);
  for (; twos >= 2; twos -= 2) factors.push_back(4);
  if (twos == 1) factors.push_back(2);
  for (const int64_t factor : {3, 5}) {
    for (; n % factor == 0; n /= factor) factors.push_back(factor);
  }
  for (int64_t factor = 7; factor <= kMaxFactor && n > 1; factor += 2) {
    for (; n % factor == 0; n /= factor) factors.push_back(factor);
  }
  if (n > 1) return {};
  return factors;
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
      for (int64_t k = 0; k < factor; ++k) pass.twiddle.push_back(fft_root<T>(p * k, n));
    }
    for (int64_t j = 0; factor > 5 && j < factor; ++j) pass.roots.push_back(fft_root<T>(j, factor));
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
    const FftComplex<T> w = fft_root<T>(square, 2 * length);
    convolution_->chirp.push_back(w);
    const auto scale = static_cast<T>(padded);  // a power of two
    for (const int64_t at : {j, (padded - j) % padded}) {
      re[static_cast<size_t>(at)] = w.re / scale;
      im[static_cast<size_t>(at)] = -w.im / scale;
    }
  }
  std::vector<T> work(static_cast<size_t>(convolution_->plan.work_size(1)));
  const FftParts<T> kernel = convolution_->plan.run({re.data(), im.data()}, work.data(), 1);
  for (int64_t j = 0; j < padded; ++j) convolution_->kernel.push_back({kernel.re[j], kernel.im[j]});
}

template <class T>
bool FftPlan<T>::has_small_factors(int64_t length) {
  return length <= 1 || !factors_of(length).empty();
}

template <class T>
FftPlan<T>::~FftPlan() = default;
template <class T>
FftPlan<T>::FftPlan(FftPlan&&) noexcept = default;
template <class T>
FftPlan<T>& FftPlan<T>::operator=(FftPlan&&) noexcept = default;

template <class T>
int64_t FftPlan<T>::work_size(int64_t lines) const {
  if (convolution_ == nullptr) return 2 * fft_size(length_ * lines);
  const FftPlan<T>& plan = convolution_->plan;
  return 2 * fft_size(plan.length() * lines) + plan.work_size(lines);
}

template <class T>
FftParts<T> FftPlan<T>::run(FftParts<T> data, T* work, int64_t lines) const {
  if (convolution_ != nullptr) return run_convolution(data, work, lines);
  FftParts<T> other{work, work + fft_size(length_ * lines)};
  for (const Pass& pass : passes_) {
    run_for_machine<T>(pass, data.re, data.im, other.re, other.im, lines);
    std::swap(data, other);
  }
  return data;
}

// X[k] = chirp[k] * sum over j of (x[j] chirp[j]) conj(chirp[k - j]): a circular convolution.
template <class T>
FftParts<T> FftPlan<T>::run_convolution(FftParts<T> data, T* work, int64_t lines) const {
  const FftPlan<T>& plan = convolution_->plan;
  const int64_t size = plan.length() * lines;
  const FftParts<T> a{work, work + fft_size(size)};
  T* const rest = work + 2 * fft_size(size);
  const auto multiply = [lines](const T* x_re, const T* x_im, const FftComplex<T>& w, T* to_re,
                                T* to_im) {
    for (int64_t l = 0; l < lines; ++l) {
      const T real = x_re[l] * w.re - x_im[l] * w.im;
      to_im[l] = x_re[l] * w.im + x_im[l] * w.re;
      to_re[l] = real;
    }
  };
  for (int64_t j = 0; j < length_; ++j) {
    const int64_t at = j * lines;
    multiply(data.re + at, data.im + at, convolution_->chirp[static_cast<size_t>(j)], a.re + at,
             a.im + at);
  }
  std::fill(a.re + length_ * lines, a.re + size, T(0));
  std::fill(a.im + length_ * lines, a.im + size, T(0));
  const FftParts<T> b = plan.run(a, rest, lines);
  for (int64_t j = 0; j < plan.length(); ++j) {
    const int64_t at = j * lines;
    multiply(b.re + at, b.im + at, convolution_->kernel[static_cast<size_t>(j)], b.re + at,
             b.im + at);
  }
  // The inverse.
  const FftParts<T> c = plan.run({b.im, b.re}, b.re == a.re ? rest : work, lines);
  for (int64_t j = 0; j < length_; ++j) {
    const int64_t at = j * lines;
    multiply(c.im + at, c.re + at, convolution_->chirp[static_cast<size_t>(j)], data.re + at,
             data.im + at);
  }
  return data;
}

template class FftPlan<float>;
template class FftPlan<double>;

}  // namespace systole::cpu
