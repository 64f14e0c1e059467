#include "systole/base/float16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace systole {
namespace {

// The value of a binary16 by its definition.
double by_definition(uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int fraction = bits & 0x3ff;
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

TEST(Float16Test, EveryFiniteValueConvertsAndComesBack) {
  for (uint32_t i = 0; i < 0x10000; ++i) {
    const auto bits = static_cast<uint16_t>(i);
    if ((bits & 0x7c00) == 0x7c00) continue;
    const float value = float16::from_bits(bits);
    ASSERT_EQ(value, by_definition(bits)) << bits;
    ASSERT_EQ(float16(value).bits, bits);
  }
}

TEST(Float16Test, RoundsToNearestTiesToEven) {
  for (uint32_t i = 0; i < 0x7bff; ++i) {
    const auto low = static_cast<uint16_t>(i);
    const auto high = static_cast<uint16_t>(i + 1);
    const auto middle = static_cast<float>((by_definition(low) + by_definition(high)) / 2);
    ASSERT_EQ(float16(middle).bits, low % 2 == 0 ? low : high) << low;
    ASSERT_EQ(float16(std::nextafter(middle, 0.0F)).bits, low) << low;
    ASSERT_EQ(float16(std::nextafter(middle, 1e6F)).bits, high) << low;
    ASSERT_EQ(float16(-middle).bits, 0x8000 | (low % 2 == 0 ? low : high)) << low;
  }
}

TEST(Float16Test, BeyondTheLargestIsInfinity) {
  EXPECT_EQ(float16(65504.0F).bits, 0x7bff);
  EXPECT_EQ(float16(65519.996F).bits, 0x7bff);
  EXPECT_EQ(float16(65520.0F).bits, 0x7c00);
  EXPECT_EQ(float16(-1e30F).bits, 0xfc00);
  EXPECT_EQ(static_cast<float>(float16::from_bits(0x7c00)), std::numeric_limits<float>::infinity());
}

TEST(Float16Test, NanStaysNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(static_cast<float>(float16(nan))));
  EXPECT_TRUE(std::isnan(static_cast<float>(bfloat16(nan))));
  const auto smallest_payload = std::bit_cast<float>(0x7f800001U);
  EXPECT_TRUE(std::isnan(static_cast<float>(float16(smallest_payload))));
  EXPECT_TRUE(std::isnan(static_cast<float>(bfloat16(smallest_payload))));
}

TEST(BFloat16Test, EveryValueComesBackAndRoundsTiesToEven) {
  for (uint32_t i = 0; i < 0x7f80; ++i) {
    const auto bits = static_cast<uint16_t>(i);
    const float value = bfloat16::from_bits(bits);
    ASSERT_EQ(bfloat16(value).bits, bits);
    const auto middle = std::bit_cast<float>((i << 16) | 0x8000);
    ASSERT_EQ(bfloat16(middle).bits, i % 2 == 0 ? i : i + 1);
    ASSERT_EQ(bfloat16(std::nextafter(middle, 0.0F)).bits, i);
    ASSERT_EQ(bfloat16(-value).bits, bits | 0x8000);
  }
}

}  // namespace
}  // namespace systole
