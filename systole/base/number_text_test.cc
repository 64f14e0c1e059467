#include "systole/base/number_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace systole {
namespace {

TEST(NumberTextTest, AsFewDigitsAsGiveTheNumberBack) {
  const struct {
    Tensor tensor;
    const char* text;
  } rows[] = {
      {Tensor::of<float>({}, {0.96F}), "0.96"},
      {Tensor::of<float>({}, {1.0F}), "1"},
      {Tensor::of<float>({}, {0.094759256F}), "0.094759256"},
      {Tensor::of<float>({}, {1e-20F}), "1e-20"},
      {Tensor::of<double>({}, {0.1}), "0.1"},
      {Tensor::of<double>({}, {0.96F}), "0.9599999785423279"},
      {Tensor::of<int64_t>({}, {INT64_MAX}), "9223372036854775807"},
      {Tensor::of<uint64_t>({}, {UINT64_MAX}), "18446744073709551615"},
      {Tensor::of<int32_t>({}, {2147483647}), "2147483647"},
      {Tensor::of<bool>({}, {true}), "1"},
  };
  for (const auto& [tensor, text] : rows) EXPECT_EQ(number_text(tensor), text);
  EXPECT_EQ(number_text(Tensor::of<float>({2}, {0.25F, 0.5F}), 1), "0.5");
}

TEST(NumberTextTest, TextsAreParsed) {
  EXPECT_EQ(parse_number<int32_t>(" \t\n-12\r"), -12);
  EXPECT_EQ(parse_number<int64_t>("+9223372036854775807"), INT64_MAX);
  EXPECT_EQ(parse_number<uint8_t>("255"), 255);
  EXPECT_EQ(parse_number<double>("1e-3"), 1e-3);
  EXPECT_EQ(parse_number<float>("+.5"), 0.5F);
  EXPECT_TRUE(std::isnan(parse_number<float>("nan").value()));
  for (const char* const text : {"", " ", "+", "-", "++1", "+-1", "1 2", "1x", "0x10", "1.5"}) {
    EXPECT_FALSE(parse_number<int32_t>(text)) << text;
  }
  EXPECT_FALSE(parse_number<int8_t>("128"));
  EXPECT_FALSE(parse_number<uint32_t>("-1"));
}

TEST(NumberTextTest, NumbersOutsideOfTheirType) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(parse_number<float>("-1e39"), -infinity);
  EXPECT_EQ(parse_number<float>("-1e39", TooLarge::none), std::nullopt);
  EXPECT_EQ(parse_number<double>("1e39", TooLarge::none), 1e39);
  EXPECT_EQ(parse_number<double>("1e999"), infinity);
  EXPECT_EQ(parse_number<float>("inf", TooLarge::none), infinity);
  EXPECT_EQ(parse_number<float>("1e-60", TooLarge::none), 0.0F);
  EXPECT_EQ(parse_number<float>("1e-40", TooLarge::none), 1e-40F);
}

}  // namespace
}  // namespace systole
