#include "apps/systole/hlo/difference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "systole/base/error.h"

namespace systole::app {
namespace {

using Kind = CheckRule::Kind;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const float kNan = std::nanf("");

TEST(UlpDistance, CountsRepresentableNumbers) {
  EXPECT_EQ(ulp_distance(1.0F, 1.0F), 0);
  EXPECT_EQ(ulp_distance(1.0F, std::nextafter(1.0F, 2.0F)), 1);
  EXPECT_EQ(ulp_distance(1.0, std::nextafter(std::nextafter(1.0, 0.0), 0.0)), 2);
  EXPECT_EQ(ulp_distance(0.0F, -0.0F), 0);
  // The smallest numbers on both sides of zero.
  const float tiny = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(ulp_distance(-tiny, tiny), 2);
  EXPECT_EQ(ulp_distance(bfloat16(1.0F), bfloat16(1.0078125F)), 1);
  EXPECT_EQ(ulp_distance(float16(1.0F), float16(1.0009765625F)), 1);
}

TEST(UlpDistance, WhatIsNotFiniteStandsAlone) {
  constexpr uint64_t kFar = std::numeric_limits<uint64_t>::max();
  EXPECT_EQ(ulp_distance(kInfinity, kInfinity), 0);
  EXPECT_EQ(ulp_distance(kInfinity, std::numeric_limits<float>::max()), kFar);
  EXPECT_EQ(ulp_distance(kInfinity, -kInfinity), kFar);
  EXPECT_EQ(ulp_distance(kNan, -kNan), 0);
  EXPECT_EQ(ulp_distance(kNan, 1.0F), kFar);
}

TEST(UlpDistance, OfAComplexNumberIsThatOfTheWorsePart) {
  using Complex = std::complex<float>;
  EXPECT_EQ(ulp_distance(Complex(1, 2), Complex(std::nextafter(1.0F, 2.0F), 2)), 1);
}

TEST(Difference, EqualityIsThatOfNumbers) {
  const auto eq = [](float x, float y) {
    return difference(Tensor(x), Tensor(y), {.kind = Kind::eq}).empty();
  };
  EXPECT_TRUE(eq(0.0F, -0.0F));
  EXPECT_TRUE(eq(kInfinity, kInfinity));
  EXPECT_FALSE(eq(kNan, kNan));
  EXPECT_FALSE(eq(1.0F, std::nextafter(1.0F, 2.0F)));
}

TEST(Difference, AlmostEqualTakesATolerance) {
  const auto almost = [](double x, double y) {
    return difference(Tensor(x), Tensor(y), {.kind = Kind::almost_eq, .tolerance = 0.001}).empty();
  };
  EXPECT_TRUE(almost(1, 1.0009));
  EXPECT_FALSE(almost(1, 1.0011));
  EXPECT_TRUE(almost(std::nan(""), std::nan("")));
  EXPECT_FALSE(almost(std::nan(""), 1));
  EXPECT_TRUE(almost(HUGE_VAL, HUGE_VAL));
  EXPECT_FALSE(almost(HUGE_VAL, -HUGE_VAL));
}

TEST(Difference, CloseHasBothBounds) {
  const float next = std::nextafter(1.0F, 2.0F);
  const CheckRule exactly_one{.kind = Kind::close, .min_ulps = 1, .max_ulps = 1};
  EXPECT_EQ(difference(Tensor(1.0F), Tensor(next), exactly_one), "");
  EXPECT_NE(difference(Tensor(1.0F), Tensor(1.0F), exactly_one), "");
}

TEST(Difference, NamesTheFirstElementAndHowManyThereAre) {
  const Tensor got = Tensor::of<float>({2, 2}, {1, 2, 3, 4});
  const Tensor expected = Tensor::of<float>({2, 2}, {1, 2.5F, 3, 5});
  EXPECT_EQ(difference(got, expected, {.kind = Kind::close, .max_ulps = 3}),
            "index [0,1], got 2, expected 2.5, 2097152 ULP apart, expected at most 3; "
            "2 of 4 elements");
  EXPECT_EQ(difference(Tensor(7), Tensor(8), {.kind = Kind::eq}),
            "index [], got 7, expected 8; 1 of 1 elements");
}

TEST(Difference, RefusesOtherTypes) {
  const auto error_of = [](const Tensor& x, const Tensor& y, Kind kind) {
    try {
      difference(x, y, {.kind = kind});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(error_of(Tensor(1), Tensor(1.0F), Kind::eq),
            "INVALID_ARGUMENT: check: type, got s32[], expected f32[]");
  EXPECT_EQ(error_of(Tensor(1), Tensor(1), Kind::close),
            "INVALID_ARGUMENT: check: dtype, got s32, expected floating-point or complex elements");
}

}  // namespace
}  // namespace systole::app
