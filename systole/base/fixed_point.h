// Fixed-point products of integer arithmetic: a 32-bit integer times a real factor, rounded to an
// integer (gemmlowp, TensorFlow Lite).
//
// The factor is multiplier * 2^(shift - 31), with a multiplier in [2^30, 2^31).
#pragma once

#include <cstdint>

namespace systole {

inline constexpr int kMinFixedPointShift = -31;
inline constexpr int kMaxFixedPointShift = 30;

// How products are rounded. `tflite` rounds twice, as TensorFlow Lite does by default; `single`
// rounds once, as its TFLITE_SINGLE_ROUNDING. They differ in rare last bits.
enum class FixedPointRounding : uint8_t { tflite, single };

struct FixedPointFactor {
  int32_t multiplier = 0;
  int shift = 0;
  friend bool operator==(const FixedPointFactor&, const FixedPointFactor&) = default;
};

// Returns the nearest factor of that form. Errors: INVALID_ARGUMENT for a factor that is negative,
// not finite or at least 2^30. A factor below 2^-32 becomes 0.
FixedPointFactor fixed_point_factor(double factor);

// Keeps the low 32 bits: what 32-bit registers hold.
constexpr int32_t wrap_to_32(int64_t value) {
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

// Returns x * factor. FixedPointRounding::tflite rounds ties up and then away from zero;
// FixedPointRounding::single rounds ties up. Products beyond 32 bits keep their low 32 bits.
// REQUIRES: kMinFixedPointShift <= factor.shift <= kMaxFixedPointShift.
constexpr int32_t fixed_point_multiply(int32_t x, FixedPointFactor factor,
                                       FixedPointRounding rounding) {
  if (rounding == FixedPointRounding::tflite) {
    const int left = factor.shift > 0 ? factor.shift : 0;
    const int right = factor.shift > 0 ? 0 : -factor.shift;
    const int32_t scaled =
        wrap_to_32(static_cast<int64_t>(static_cast<uint64_t>(int64_t{x}) << left));
    return rounding_divide_by_power(doubling_high_multiply(scaled, factor.multiplier), right);
  }
  const int total = 31 - factor.shift;
  const int64_t product = int64_t{x} * factor.multiplier;
  return wrap_to_32((product + (int64_t{1} << (total - 1))) >> total);
}

}  // namespace systole
