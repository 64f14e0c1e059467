// Conversion of one element between any two numeric element types.
#pragma once

#include <cmath>
#include <complex>
#include <limits>
#include <type_traits>

#include "systole/base/dtype.h"

namespace systole {

namespace convert_detail {

template <class T>
inline constexpr bool is_complex_type = false;
template <class T>
inline constexpr bool is_complex_type<std::complex<T>> = true;

template <class T>
inline constexpr bool is_real_float_type =
    std::is_floating_point_v<T> || std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;

// The smallest and largest value of an integer element type.
template <class T>
struct IntegerRange {
  static constexpr T lowest = std::numeric_limits<T>::min();
  static constexpr T highest = std::numeric_limits<T>::max();
};
template <int kBits, bool kSigned>
struct IntegerRange<NarrowInteger<kBits, kSigned>> : NarrowInteger<kBits, kSigned> {};

template <class To, class Float>
To saturate(Float value) {
  using Range = IntegerRange<To>;
  // highest + 1 is a power of two, which every floating type represents exactly; highest may not
  // be.
  constexpr auto kHalfEnd = Range::highest / 2 + 1;
  constexpr Float kEnd = static_cast<Float>(kHalfEnd) * 2;
  if (std::isnan(value)) return To(0);
  if (value >= kEnd) return To(Range::highest);
  if (value <= static_cast<Float>(Range::lowest)) return To(Range::lowest);
  if constexpr (std::is_integral_v<To>) {
    return static_cast<To>(value);
  } else {
    return To(static_cast<int>(value));
  }
}

}  // namespace convert_detail

// Converts `value` to To:
//   floating -> integer: truncates toward zero, saturates; NaN becomes 0
//   integer  -> integer: keeps the low bits (wraps), as TensorFlow and XLA do
//   any      -> floating: rounds to nearest, ties to even; to f16 and bf16 through f32
//   any      -> pred: value != 0 (NaN is true)
//   complex  -> others: converts the real part
template <class To, class From>
To convert_element(From value) {
  using convert_detail::is_complex_type;
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (is_complex_type<From> && is_complex_type<To>) {
    using Part = typename To::value_type;
    return To(static_cast<Part>(value.real()), static_cast<Part>(value.imag()));
  } else if constexpr (is_complex_type<From>) {
    return convert_element<To>(value.real());
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (is_complex_type<To>) {
    return To(convert_element<typename To::value_type>(value));
  } else if constexpr (std::is_same_v<From, float16> || std::is_same_v<From, bfloat16>) {
    return convert_element<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, float16> || std::is_same_v<To, bfloat16>) {
    return To(static_cast<float>(value));
  } else if constexpr (std::is_floating_point_v<To>) {
    return static_cast<To>(value);
  } else if constexpr (std::is_floating_point_v<From>) {
    return convert_detail::saturate<To>(value);
  } else if constexpr (std::is_integral_v<To>) {
    return static_cast<To>(value);
  } else {
    return To(static_cast<int>(value));
  }
}

}  // namespace systole
