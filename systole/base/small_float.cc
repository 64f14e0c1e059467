#include "systole/base/small_float.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace systole {
namespace {

constexpr auto kFirst = static_cast<size_t>(DType::f4e2m1fn);
constexpr auto kCount = static_cast<size_t>(DType::f8e8m0fnu) - kFirst + 1;

// In the order of DType.
constexpr std::array<SmallFloatFormat, kCount> kFormats = {{
    {2, 1, 1, SmallFloatRange::finite},   // f4e2m1fn
    {3, 4, 3, SmallFloatRange::ieee},     // f8e3m4
    {4, 3, 7, SmallFloatRange::ieee},     // f8e4m3
    {4, 3, 11, SmallFloatRange::fnuz},    // f8e4m3b11fnuz
    {4, 3, 7, SmallFloatRange::nan},      // f8e4m3fn
    {4, 3, 8, SmallFloatRange::fnuz},     // f8e4m3fnuz
    {5, 2, 15, SmallFloatRange::ieee},    // f8e5m2
    {5, 2, 16, SmallFloatRange::fnuz},    // f8e5m2fnuz
    {8, 0, 127, SmallFloatRange::scale},  // f8e8m0fnu
}};

float decode(const SmallFloatFormat& format, int code) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  if (format.range == SmallFloatRange::scale) {
    return code == format.nan() ? kNan : std::ldexp(1.0F, code - format.bias);
  }
  const int sign = code & format.sign_bit();
  const int magnitude = code & (format.sign_bit() - 1);
  if (format.range == SmallFloatRange::fnuz && code == format.sign_bit()) return kNan;
  if (magnitude > format.largest()) {
    const bool infinite =
        format.range == SmallFloatRange::ieee && magnitude == format.largest() + 1;
    return std::copysign(infinite ? std::numeric_limits<float>::infinity() : kNan,
                         sign != 0 ? -1.0F : 1.0F);
  }
  const int exponent = magnitude >> format.mantissa_bits;
  const int fraction = magnitude & ((1 << format.mantissa_bits) - 1);
  const int significand = exponent == 0 ? fraction : fraction | 1 << format.mantissa_bits;
  const float value = std::ldexp(static_cast<float>(significand),
                                 std::max(exponent, 1) - format.bias - format.mantissa_bits);
  return sign != 0 ? -value : value;
}

using Values = std::array<float, 256>;

std::array<Values, kCount> all_values() {
  std::array<Values, kCount> all{};
  for (size_t f = 0; f < kCount; ++f) {
    const SmallFloatFormat& format = kFormats[f];
    const int mask = format.range == SmallFloatRange::finite ? 2 * format.sign_bit() - 1 : 255;
    for (int code = 0; code < 256; ++code) {
      all[f][static_cast<size_t>(code)] = decode(format, code & mask);
    }
  }
  return all;
}

size_t index_of(DType dtype) { return static_cast<size_t>(dtype) - kFirst; }

uint8_t encode_scale(const SmallFloatFormat& format, double value) {
  if (!(value > 0)) return static_cast<uint8_t>(format.nan());
  if (std::isinf(value)) return static_cast<uint8_t>(format.nan());
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);  // in [0.5, 1)
  int code = exponent - 1 + (fraction >= 0.75 ? 1 : 0) + format.bias;
  if (code == 0 && value > std::ldexp(1.0, -format.bias)) code = 1;  // as in ml_dtypes
  return static_cast<uint8_t>(std::clamp(code, 0, format.nan()));
}

}  // namespace

int SmallFloatFormat::largest() const {
  switch (range) {
    case SmallFloatRange::ieee:
      return (((1 << exponent_bits) - 1) << mantissa_bits) - 1;
    case SmallFloatRange::nan:
      return sign_bit() - 2;
    case SmallFloatRange::scale:
      return 254;
    case SmallFloatRange::fnuz:
    case SmallFloatRange::finite:
      break;
  }
  return sign_bit() - 1;
}

int SmallFloatFormat::nan() const {
  switch (range) {
    case SmallFloatRange::ieee:
      return (largest() + 1) | 1 << (mantissa_bits - 1);
    case SmallFloatRange::nan:
    case SmallFloatRange::scale:
      return largest() + 1;
    case SmallFloatRange::fnuz:
      return sign_bit();
    case SmallFloatRange::finite:
      break;
  }
  return -1;
}

int SmallFloatFormat::overflow() const {
  switch (range) {
    case SmallFloatRange::ieee:
      return largest() + 1;
    case SmallFloatRange::finite:
      return largest();
    default:
      return nan();
  }
}

const SmallFloatFormat& small_float_format(DType dtype) { return kFormats.at(index_of(dtype)); }

std::span<const float, 256> small_float_values(DType dtype) {
  static const std::array<Values, kCount> kValues = all_values();
  return kValues.at(index_of(dtype));
}

uint8_t encode_small_float(DType dtype, double value) {
  const SmallFloatFormat& format = small_float_format(dtype);
  if (format.range == SmallFloatRange::scale) return encode_scale(format, value);
  const bool fnuz = format.range == SmallFloatRange::fnuz;
  const int sign = std::signbit(value) ? format.sign_bit() : 0;
  if (std::isnan(value)) {
    if (format.nan() < 0) return static_cast<uint8_t>(sign ^ format.sign_bit());
    return static_cast<uint8_t>(format.nan() | sign);
  }
  int code = format.largest() + 1;
  if (std::isfinite(value) && value != 0) {
    const int exponent = std::max(std::ilogb(value), format.least_exponent());
    // Counts units in the last place, which the code does, too, from the least exponent on.
    const double units =
        std::nearbyint(std::ldexp(std::fabs(value), format.mantissa_bits - exponent));
    const int steps = std::min(exponent - format.least_exponent(), 1 << format.exponent_bits);
    code = (steps << format.mantissa_bits) + static_cast<int>(units);
  } else if (value == 0) {
    code = 0;
  }
  if (code > format.largest()) code = format.overflow();
  // With `fnuz` there is no -0.
  return static_cast<uint8_t>(fnuz && code == 0 ? 0 : code | sign);
}

}  // namespace systole
