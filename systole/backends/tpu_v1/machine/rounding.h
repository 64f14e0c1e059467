// Requantization: a 32-bit integer times a real factor, rounded to an integer.
//
// The factor is multiplier * 2^(shift - 31), with a multiplier in [2^30, 2^31) (gemmlowp,
// TensorFlow Lite).
#pragma once

#include <cstdint>

#include "systole/backends/tpu_v1/isa/program.h"

namespace systole::tpu_v1 {

inline constexpr int kLeastShift = -31;
inline constexpr int kMostShift = 30;

// Keeps the low 32 bits: what 32-bit registers hold.
constexpr int32_t wrap32(int64_t value) {
  return static_cast<int32_t>(static_cast<uint64_t>(value));
}

// Saturating rounding doubling high multiplication: a * b / 2^31, ties up; 2^31 - 1 if both are
// -2^31.
constexpr int32_t doubling_high_multiply(int32_t a, int32_t b) {
  if (a == b && a == INT32_MIN) return INT32_MAX;
  const int64_t product = int64_t{a} * b;
  const int64_t nudge = product >= 0 ? int64_t{1} << 30 : 1 - (int64_t{1} << 30);
  return static_cast<int32_t>((product + nudge) / (int64_t{1} << 31));
}

// x / 2^exponent, ties away from zero. REQUIRES: 0 <= exponent <= 31.
constexpr int32_t rounding_divide_by_power(int32_t x, int exponent) {
  const auto mask = static_cast<int32_t>((int64_t{1} << exponent) - 1);
  const int32_t remainder = x & mask;
  const int32_t threshold = (mask >> 1) + (x < 0 ? 1 : 0);
  const auto quotient = static_cast<int32_t>(int64_t{x} >> exponent);
  return quotient + (remainder > threshold ? 1 : 0);
}

// Returns x * multiplier * 2^(shift - 31). Rounding::tflite rounds twice, ties up and then away
// from zero; Rounding::single rounds once, ties up. Products beyond 32 bits keep their low 32 bits.
// REQUIRES: kLeastShift <= shift <= kMostShift.
constexpr int32_t requantize(int32_t x, int32_t multiplier, int shift, Rounding rounding) {
  if (rounding == Rounding::tflite) {
    const int left = shift > 0 ? shift : 0;
    const int right = shift > 0 ? 0 : -shift;
    const int32_t scaled = wrap32(static_cast<int64_t>(static_cast<uint64_t>(int64_t{x}) << left));
    return rounding_divide_by_power(doubling_high_multiply(scaled, multiplier), right);
  }
  const int total = 31 - shift;
  const int64_t product = int64_t{x} * multiplier;
  return wrap32((product + (int64_t{1} << (total - 1))) >> total);
}

struct Multiplier {
  int32_t multiplier = 0;
  int shift = 0;
};

// Returns the multiplier and shift of a factor. Errors: INVALID_ARGUMENT for a factor that is
// negative, not finite or at least 2^30. A factor below 2^-32 becomes 0.
Multiplier quantize_multiplier(double factor);

}  // namespace systole::tpu_v1
