// The 16-bit floating-point element types. Storage only: arithmetic is done in float and rounded,
// as in StableHLO's reference.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace systole {

// bfloat16: the upper half of an IEEE float; conversion rounds to nearest, ties to even.
struct bfloat16 {
  uint16_t bits = 0;

  bfloat16() = default;
  bfloat16(float value) : bits(round(value)) {}  // NOLINT(google-explicit-constructor)
  operator float() const { return std::bit_cast<float>(uint32_t{bits} << 16); }  // NOLINT

  static bfloat16 from_bits(uint16_t bits) {
    bfloat16 result;
    result.bits = bits;
    return result;
  }

 private:
  static uint16_t round(float value) {
    const auto u = std::bit_cast<uint32_t>(value);
    if (std::isnan(value)) return static_cast<uint16_t>((u >> 16) | 0x40);
    return static_cast<uint16_t>((u + 0x7fff + ((u >> 16) & 1)) >> 16);
  }
};

// IEEE binary16; conversion rounds to nearest, ties to even, with subnormals kept.
struct float16 {
  uint16_t bits = 0;

  float16() = default;
  float16(float value);    // NOLINT(google-explicit-constructor)
  operator float() const;  // NOLINT(google-explicit-constructor)

  static float16 from_bits(uint16_t bits) {
    float16 result;
    result.bits = bits;
    return result;
  }
};

}  // namespace systole
