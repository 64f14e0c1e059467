// Floating-point element types below 16 bits: a byte an element, its code. Storage only: arithmetic
// is done in float and rounded.
#pragma once

#include <cstdint>
#include <span>

#include "systole/base/dtype.h"

namespace systole {

// What stands for infinities and NaN.
enum class SmallFloatRange : uint8_t {
  ieee,    // the largest exponent has both
  nan,     // "FN": the largest code is NaN; there is no infinity
  fnuz,    // the code of -0 is the only NaN; there is no infinity
  finite,  // neither
  scale,   // E8M0: powers of two; no sign, no zero; the largest code is NaN
};

// 1 sign bit, but for `scale`; then the exponent, then the mantissa.
struct SmallFloatFormat {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  SmallFloatRange range;

  int sign_bit() const { return 1 << (exponent_bits + mantissa_bits); }
  // The largest code of a finite number, without sign.
  int largest() const;
  // The code of a positive number that is too large: infinity, or NaN in formats without infinity,
  // or the largest number in formats without both.
  int overflow() const;
  // The code of NaN, without sign except in `fnuz` formats; -1 in formats without NaN.
  int nan() const;
  // The exponent of the smallest normal number; smaller ones are subnormal.
  int least_exponent() const { return range == SmallFloatRange::scale ? -bias : 1 - bias; }
};

// REQUIRES: is_small_float(dtype), here and below.
const SmallFloatFormat& small_float_format(DType dtype);

// Returns the values of all 256 bytes; for 4 bits, the upper half of a byte is ignored.
std::span<const float, 256> small_float_values(DType dtype);

// Rounds to nearest, ties to even; for E8M0 ties away from zero, and all numbers above the smallest
// to the second at least. Numbers beyond the largest become infinity, NaN or, without either, the
// largest. E8M0 has NaN for zero and negative numbers, and its smallest number for smaller ones. Of
// NaN 4 bits keep a zero with the opposite sign.
uint8_t encode_small_float(DType dtype, double value);

}  // namespace systole
