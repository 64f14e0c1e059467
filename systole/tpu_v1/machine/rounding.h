// Requantization: a 32-bit integer times a real factor, rounded to an integer, with the formulas of
// base/fixed_point.h.
#pragma once

#include <cstdint>

#include "systole/base/fixed_point.h"
#include "systole/tpu_v1/isa/program.h"

namespace systole::tpu_v1 {

inline constexpr int kMinShift = kMinFixedPointShift;
inline constexpr int kMaxShift = kMaxFixedPointShift;

// Keeps the low 32 bits: what 32-bit registers hold.
constexpr int32_t wrap32(int64_t value) { return wrap_to_32(value); }

// Returns x * multiplier * 2^(shift - 31). Rounding::tflite rounds twice, ties up and then away
// from zero; Rounding::single rounds once, ties up. Products beyond 32 bits keep their low 32 bits.
// REQUIRES: kMinShift <= shift <= kMaxShift.
constexpr int32_t requantize(int32_t x, int32_t multiplier, int shift, Rounding rounding) {
  return fixed_point_multiply(
      x, {.multiplier = multiplier, .shift = shift},
      rounding == Rounding::tflite ? FixedPointRounding::tflite : FixedPointRounding::single);
}

}  // namespace systole::tpu_v1
