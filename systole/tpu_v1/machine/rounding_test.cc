#include "systole/tpu_v1/machine/rounding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "systole/base/error.h"

namespace systole::tpu_v1 {
namespace {

__extension__ using Int128 = __int128;

// floor(n / d), d > 0
Int128 floor_divide(Int128 n, Int128 d) {
  const Int128 q = n / d;
  return q - (n % d < 0 ? 1 : 0);
}
Int128 magnitude(Int128 n) { return n < 0 ? -n : n; }
// n / d to the nearest integer, ties away from zero.
Int128 nearest_away(Int128 n, Int128 d) {
  const Int128 q = floor_divide(2 * magnitude(n) + d, 2 * d);
  return n < 0 ? -q : q;
}

// n / d to the nearest integer, ties up.
Int128 nearest_up(Int128 n, Int128 d) { return floor_divide(2 * n + d, 2 * d); }

int32_t expected_double_rounding(int32_t x, int32_t multiplier, int shift) {
  const Int128 scaled = Int128{x} << (shift > 0 ? shift : 0);
  const auto kept = static_cast<int32_t>(static_cast<uint32_t>(scaled));
  Int128 high = nearest_up(Int128{kept} * multiplier, Int128{1} << 31);
  if (high > INT32_MAX) high = INT32_MAX;
  return static_cast<int32_t>(nearest_away(high, Int128{1} << (shift > 0 ? 0 : -shift)));
}

int32_t expected_single_rounding(int32_t x, int32_t multiplier, int shift) {
  const Int128 d = Int128{1} << (31 - shift);
  return static_cast<int32_t>(static_cast<uint32_t>(nearest_up(Int128{x} * multiplier, d)));
}

std::vector<int32_t> interesting_integers() {
  std::vector<int32_t> values = {0};
  for (int bit = 0; bit < 31; ++bit) {
    for (const int64_t near : {-1, 0, 1}) {
      values.push_back(static_cast<int32_t>((int64_t{1} << bit) + near));
      values.push_back(static_cast<int32_t>(-(int64_t{1} << bit) + near));
    }
  }
  values.insert(values.end(), {INT32_MIN, INT32_MIN + 1, INT32_MAX, INT32_MAX - 1});
  return values;
}

TEST(Rounding, DividesEvery16BitNumberByEveryPower) {
  for (int exponent = 0; exponent <= 31; ++exponent) {
    for (int32_t x = -65536; x <= 65535; ++x) {
      ASSERT_EQ(rounding_divide_by_power(x, exponent), nearest_away(x, Int128{1} << exponent))
          << x << " " << exponent;
    }
    for (const int32_t x : interesting_integers()) {
      ASSERT_EQ(rounding_divide_by_power(x, exponent), nearest_away(x, Int128{1} << exponent));
    }
  }
}

TEST(Rounding, HighMultiplyOfInterestingAndRandomPairs) {
  const std::vector<int32_t> values = interesting_integers();
  const auto check = [](int32_t a, int32_t b) {
    Int128 expected = nearest_up(Int128{a} * b, Int128{1} << 31);
    if (expected > INT32_MAX) expected = INT32_MAX;
    ASSERT_EQ(doubling_high_multiply(a, b), static_cast<int32_t>(expected)) << a << " " << b;
  };
  for (const int32_t a : values) {
    for (const int32_t b : values) check(a, b);
  }
  std::mt19937 random(1);
  for (int i = 0; i < 2'000'000; ++i)
    check(static_cast<int32_t>(random()), static_cast<int32_t>(random()));
}

TEST(Rounding, RequantizesAsExactArithmeticDoes) {
  std::mt19937 random(2);
  std::vector<int32_t> values = interesting_integers();
  for (int i = 0; i < 500; ++i) values.push_back(static_cast<int32_t>(random()) >> (i % 28));
  for (int shift = kMinShift; shift <= kMaxShift; ++shift) {
    for (int i = 0; i < 40; ++i) {
      const auto multiplier = i == 0   ? int32_t{1} << 30
                              : i == 1 ? INT32_MAX
                                       : static_cast<int32_t>((random() >> 2) | 0x40000000U);
      for (const int32_t x : values) {
        ASSERT_EQ(requantize(x, multiplier, shift, Rounding::tflite),
                  expected_double_rounding(x, multiplier, shift))
            << x << " " << multiplier << " " << shift;
        ASSERT_EQ(requantize(x, multiplier, shift, Rounding::single),
                  expected_single_rounding(x, multiplier, shift))
            << x << " " << multiplier << " " << shift;
      }
    }
  }
}

TEST(Rounding, TheModesDifferInRareBits) {
  // A quarter: 0.5 rounds to 1, and half of that to 1 again.
  EXPECT_EQ(requantize(1, 1 << 30, -1, Rounding::tflite), 1);
  EXPECT_EQ(requantize(1, 1 << 30, -1, Rounding::single), 0);
}

TEST(Rounding, MultipliersRestoreTheirFactor) {
  for (const double factor : {1.0, 0.5, 0.75, 0.0003, 0.9999999999, 3.25, 1e-9}) {
    const FixedPointFactor m = fixed_point_factor(factor);
    EXPECT_GE(m.multiplier, 1 << 30);
    EXPECT_NEAR(std::ldexp(m.multiplier, m.shift - 31) / factor, 1, 1e-9);
  }
  EXPECT_EQ(fixed_point_factor(0).multiplier, 0);
  EXPECT_EQ(fixed_point_factor(1e-20).multiplier, 0);
  EXPECT_THROW(fixed_point_factor(-1), Error);
  EXPECT_THROW(fixed_point_factor(NAN), Error);
  EXPECT_THROW(fixed_point_factor(2e9), Error);
}

}  // namespace
}  // namespace systole::tpu_v1
