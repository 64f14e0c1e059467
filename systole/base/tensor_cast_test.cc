#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>

#include "systole/base/convert.h"
#include "systole/base/tensor.h"

namespace systole {
namespace {

TEST(TensorCastTest, FloatsTruncateSaturateAndNanIsZero) {
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor from =
      Tensor::of<float>({8}, {1.9F, -1.9F, 300, -300, inf, -inf, std::nanf(""), -0.5F});
  EXPECT_EQ(from.cast(DType::s8).to_string(), "s8[8] {1, -1, 127, -128, 127, -128, 0, 0}");
  EXPECT_EQ(from.cast(DType::u8).to_string(), "u8[8] {1, 0, 255, 0, 255, 0, 0, 0}");
  EXPECT_EQ(from.cast(DType::s4).to_string(), "s4[8] {1, -1, 7, -8, 7, -8, 0, 0}");
  EXPECT_EQ(from.cast(DType::u4).to_string(), "u4[8] {1, 0, 15, 0, 15, 0, 0, 0}");
  EXPECT_EQ(from.cast(DType::pred).to_string(),
            "pred[8] {true, true, true, true, true, true, true, true}");
}

TEST(TensorCastTest, SaturatesAtTheEndsOfWideIntegers) {
  const Tensor from = Tensor::of<double>({4}, {0x1p63, -0x1p63, 0x1p64, 9223372036854774784.0});
  EXPECT_EQ(from.cast(DType::s64).to_string(),
            "s64[4] {9223372036854775807, -9223372036854775808, 9223372036854775807, "
            "9223372036854774784}");
  EXPECT_EQ(from.cast(DType::u64).to_string(),
            "u64[4] {9223372036854775808, 0, 18446744073709551615, 9223372036854774784}");
  const Tensor near = Tensor::of<float>({2}, {2147483520.0F, 2147483648.0F});
  EXPECT_EQ(near.cast(DType::s32).to_string(), "s32[2] {2147483520, 2147483647}");
}

TEST(TensorCastTest, IntegersWrap) {
  const Tensor from = Tensor::of<int32_t>({4}, {300, -1, 128, 9});
  EXPECT_EQ(from.cast(DType::u8).to_string(), "u8[4] {44, 255, 128, 9}");
  EXPECT_EQ(from.cast(DType::s8).to_string(), "s8[4] {44, -1, -128, 9}");
  EXPECT_EQ(from.cast(DType::s4).to_string(), "s4[4] {-4, -1, 0, -7}");
  EXPECT_EQ(from.cast(DType::pred).to_string(), "pred[4] {true, true, true, true}");
}

TEST(TensorCastTest, Complex) {
  using Complex = std::complex<float>;
  const Tensor from = Tensor::of<Complex>({2}, {Complex(1.5F, 2), Complex(0, 1)});
  EXPECT_EQ(from.cast(DType::f32).to_string(), "f32[2] {1.5, 0}");
  EXPECT_EQ(from.cast(DType::pred).to_string(), "pred[2] {true, false}");
  EXPECT_EQ(from.cast(DType::c128).to_string(), "c128[2] {(1.5, 2), (0, 1)}");
  EXPECT_EQ(Tensor(3).cast(DType::c64).to_string(), "c64[] (3, 0)");
}

// Every pair of numeric dtypes converts small values without loss.
TEST(TensorCastTest, AllPairs) {
  const auto has_five = [](DType dtype) {
    return dtype == DType::pred || Tensor::full(dtype, {}, 5).as_double(0) == 5;
  };
  for (int i = 1; i < static_cast<int>(DType::string); ++i) {
    for (int j = 1; j < static_cast<int>(DType::string); ++j) {
      const auto from = static_cast<DType>(i);
      const auto to = static_cast<DType>(j);
      if (!has_five(from) || !has_five(to)) continue;
      const bool flag = from == DType::pred || to == DType::pred;
      const Tensor result = Tensor::full(from, {3}, 5).cast(to);
      ASSERT_EQ(result.dtype(), to);
      EXPECT_EQ(result.as_double(2), flag ? 1 : 5) << to_string(from) << " to " << to_string(to);
    }
  }
}

TEST(TensorCastTest, SameDtypeSharesAndStringsAreRefused) {
  const Tensor from = Tensor::of<float>({1}, {1});
  EXPECT_EQ(from.cast(DType::f32).raw(), from.raw());
  EXPECT_EQ(Tensor("a").cast(DType::string).item<std::string>(), "a");
  try {
    (void)Tensor("a").cast(DType::f32);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "Tensor.cast: dtypes, got string to f32, expected two numeric ones");
  }
}

TEST(TensorCastTest, FullSaturates) {
  EXPECT_EQ(Tensor::full(DType::u8, {2}, 1e9).to_string(), "u8[2] {255, 255}");
  EXPECT_EQ(Tensor::full(DType::f64, {1}, 0.1).item<double>(), 0.1);
  EXPECT_THROW((void)Tensor::full(DType::string, {1}, 1), Error);
}

TEST(ConvertElementTest, SixteenBitsRoundOnceFromFloat) {
  EXPECT_EQ((convert_element<float16, bfloat16>(bfloat16(1.5F)).bits), float16(1.5F).bits);
  EXPECT_EQ((convert_element<bfloat16, int64_t>(257).bits), bfloat16(256.0F).bits);
  EXPECT_EQ((convert_element<float16, bool>(true).bits), 0x3c00);
}

}  // namespace
}  // namespace systole
