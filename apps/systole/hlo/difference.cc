#include "apps/systole/hlo/difference.h"

#include <bit>
#include <cmath>
#include <limits>

#include "systole/base/error.h"

namespace systole::app {
namespace {

constexpr uint64_t kFar = std::numeric_limits<uint64_t>::max();

// The bits of a float's magnitude count the numbers between 0 and it.
uint64_t magnitude(double x) { return std::bit_cast<uint64_t>(x) & (~uint64_t{0} >> 1); }
uint64_t magnitude(float x) { return std::bit_cast<uint32_t>(x) & (~uint32_t{0} >> 1); }
uint64_t magnitude(float16 x) { return x.bits & 0x7fffU; }
uint64_t magnitude(bfloat16 x) { return x.bits & 0x7fffU; }

template <class T>
inline constexpr bool kComplex = false;
template <class T>
inline constexpr bool kComplex<std::complex<T>> = true;
template <class T>
inline constexpr bool kReal =
    std::is_floating_point_v<T> || std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;

template <class T>
bool almost_equal(T x, T y, double tolerance) {
  const auto a = static_cast<double>(x);
  const auto b = static_cast<double>(y);
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b || std::abs(a - b) <= tolerance;
}

template <class T>
bool holds(T x, T y, const CheckRule& rule) {
  if constexpr (kComplex<T>) {
    if (rule.kind != CheckRule::Kind::close)
      return holds(x.real(), y.real(), rule) && holds(x.imag(), y.imag(), rule);
  }
  switch (rule.kind) {
    case CheckRule::Kind::eq:
      return x == y;
    case CheckRule::Kind::almost_eq:
      if constexpr (kReal<T>) return almost_equal(x, y, rule.tolerance);
      return false;
    default:
      if constexpr (kReal<T> || kComplex<T>) {
        const uint64_t distance = ulp_distance(x, y);
        return distance >= rule.min_ulps && distance <= rule.max_ulps;
      }
      return false;
  }
}

template <class T>
std::string to_text(T x) {
  if constexpr (std::is_same_v<T, bool>) {
    return x ? "true" : "false";
  } else if constexpr (kComplex<T>) {
    return fmt::format("({}, {})", x.real(), x.imag());
  } else if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
    return fmt::format("{}", static_cast<float>(x));
  } else if constexpr (std::is_integral_v<T> || std::is_floating_point_v<T>) {
    return fmt::format("{}", x);
  } else {
    return fmt::format("{}", static_cast<int>(x));
  }
}

template <class T>
std::string distance_text(T x, T y) {
  if constexpr (kReal<T> || kComplex<T>) {
    const uint64_t distance = ulp_distance(x, y);
    return distance == kFar ? ", not to be compared" : fmt::format(", {} ULP apart", distance);
  }
  return "";
}

std::string rule_text(const CheckRule& rule) {
  switch (rule.kind) {
    case CheckRule::Kind::eq:
      return "";
    case CheckRule::Kind::almost_eq:
      return fmt::format(", expected within {}", rule.tolerance);
    default:
      return rule.min_ulps == 0 ? fmt::format(", expected at most {}", rule.max_ulps)
                                : fmt::format(", expected {} to {}", rule.min_ulps, rule.max_ulps);
  }
}

std::string index_text(const Shape& shape, int64_t element) {
  std::string text;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    text.insert(0, std::to_string(element % shape[d]) + (text.empty() ? "" : ","));
    element /= shape[d];
  }
  return "[" + text + "]";
}

template <class T>
std::string compare_elements(const Tensor& got, const Tensor& expected, const CheckRule& rule) {
  const auto x = got.data<T>();
  const auto y = expected.data<T>();
  int64_t first = -1;
  int64_t wrong = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (holds<T>(x[i], y[i], rule)) continue;
    if (wrong++ == 0) first = static_cast<int64_t>(i);
  }
  if (wrong == 0) return "";
  const T a = x[first];
  const T b = y[first];
  return fmt::format("index {}, got {}, expected {}{}{}; {} of {} elements",
                     index_text(got.shape(), first), to_text(a), to_text(b), distance_text(a, b),
                     rule_text(rule), wrong, x.size());
}

}  // namespace

template <class T>
uint64_t ulp_distance(T x, T y) {
  if constexpr (kComplex<T>) {
    return std::max(ulp_distance(x.real(), y.real()), ulp_distance(x.imag(), y.imag()));
  } else {
    const auto a = static_cast<double>(x);
    const auto b = static_cast<double>(y);
    if (std::isnan(a) && std::isnan(b)) return 0;
    if (!std::isfinite(a) || !std::isfinite(b)) return a == b ? 0 : kFar;
    if (std::signbit(a) != std::signbit(b)) return magnitude(x) + magnitude(y);
    return std::max(magnitude(x), magnitude(y)) - std::min(magnitude(x), magnitude(y));
  }
}
template uint64_t ulp_distance(float, float);
template uint64_t ulp_distance(double, double);
template uint64_t ulp_distance(float16, float16);
template uint64_t ulp_distance(bfloat16, bfloat16);
template uint64_t ulp_distance(std::complex<float>, std::complex<float>);
template uint64_t ulp_distance(std::complex<double>, std::complex<double>);

std::string difference(const Tensor& got, const Tensor& expected, const CheckRule& rule) {
  if (got.type() != expected.type())
    throw invalid_argument("check: type, got {}, expected {}", got.type(), expected.type());
  const DType dtype = got.dtype();
  if (rule.kind != CheckRule::Kind::eq && !is_floating(dtype) && !is_complex(dtype)) {
    throw invalid_argument("check: dtype, got {}, expected floating-point or complex elements",
                           dtype);
  }
  if (is_small_float(dtype)) {
    return difference(got.cast(DType::f32), expected.cast(DType::f32), rule);
  }
  return visit_dtype(dtype, [&]<class T>() { return compare_elements<T>(got, expected, rule); });
}

}  // namespace systole::app
