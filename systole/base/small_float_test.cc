#include "systole/base/small_float.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>

#include "systole/base/tensor.h"

namespace systole {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

DType dtype_named(const std::string& name) {
  for (int i = 0; i < kNumDTypes; ++i) {
    if (dtype_info(static_cast<DType>(i)).name == name) return static_cast<DType>(i);
  }
  return DType::invalid;
}

// FNV-1a of the codes of f32(bits << 16 | low).
uint64_t hash_of_codes(DType dtype, uint32_t low) {
  uint64_t hash = 0xcbf29ce484222325;
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto value = std::bit_cast<float>(bits << 16 | low);
    hash = (hash ^ encode_small_float(dtype, value)) * 0x100000001b3;
  }
  return hash;
}

// tests/golden/make_small_floats.py
TEST(SmallFloatTest, EveryCodeAndEveryRoundingAsMlDtypes) {
  std::ifstream file("tests/golden/small_floats.txt");
  std::string name;
  std::string values;
  std::string hashes[2];
  int types = 0;
  while (file >> name >> values >> hashes[0] >> hashes[1]) {
    SCOPED_TRACE(name);
    const DType dtype = dtype_named(name);
    ASSERT_TRUE(is_small_float(dtype));
    for (size_t code = 0; code < values.size() / 8; ++code) {
      const auto bits = static_cast<uint32_t>(std::stoul(values.substr(8 * code, 8), nullptr, 16));
      const float got = small_float_values(dtype)[code];
      const auto expected = std::bit_cast<float>(bits);
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(got)) << code;
      } else {
        EXPECT_EQ(std::bit_cast<uint32_t>(got), bits) << code << ": " << got;
      }
    }
    for (uint32_t low = 0; low < 2; ++low) {
      EXPECT_EQ(hash_of_codes(dtype, low), std::stoull(hashes[low], nullptr, 16)) << low;
    }
    ++types;
  }
  EXPECT_EQ(types, 9);
}

TEST(SmallFloatTest, EveryCodeComesBack) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (!is_small_float(dtype)) continue;
    for (int code = 0; code < 1 << dtype_info(dtype).bits; ++code) {
      const float value = small_float_values(dtype)[static_cast<size_t>(code)];
      if (std::isnan(value)) continue;
      EXPECT_EQ(encode_small_float(dtype, value), code) << to_string(dtype);
    }
  }
}

TEST(SmallFloatTest, RoundsOnceFromDouble) {
  // A tie of f8E4M3FN, and a little above, which f32 does not tell.
  EXPECT_EQ(encode_small_float(DType::f8e4m3fn, 1.0625), 0x38);
  EXPECT_EQ(encode_small_float(DType::f8e4m3fn, 1.0625 + 1e-12), 0x39);
}

TEST(SmallFloatTest, BeyondTheLargest) {
  EXPECT_EQ(encode_small_float(DType::f8e5m2, 61440), 0x7c);       // infinity
  EXPECT_EQ(encode_small_float(DType::f8e5m2, -61439), 0xfb);      // -57344
  EXPECT_EQ(encode_small_float(DType::f8e4m3fn, 465), 0x7f);       // NaN
  EXPECT_EQ(encode_small_float(DType::f8e4m3fnuz, -1e9), 0x80);    // NaN
  EXPECT_EQ(encode_small_float(DType::f4e2m1fn, -kInfinity), 15);  // -6
  EXPECT_EQ(encode_small_float(DType::f8e8m0fnu, 0), 0xff);        // NaN
  EXPECT_EQ(encode_small_float(DType::f8e4m3, -kNan), 0xfc);
}

TEST(SmallFloatTest, TensorsConvertAndPrint) {
  const Tensor x = Tensor::of<double>({4}, {1.06, -500, 0.001, 3});
  EXPECT_EQ(x.cast(DType::f8e4m3fn).to_string(), "f8e4m3fn[4] {1, -nan, 0.001953125, 3}");
  EXPECT_EQ(x.cast(DType::f4e2m1fn).to_string(), "f4e2m1fn[4] {1, -6, 0, 3}");
  EXPECT_EQ(x.cast(DType::f8e5m2).cast(DType::s32).to_string(), "s32[4] {1, -512, 0, 3}");
  EXPECT_EQ(Tensor::full(DType::f8e8m0fnu, {2}, 3).to_string(), "f8e8m0fnu[2] {4, 4}");
  EXPECT_EQ(Tensor::of<bool>({2}, {true, false}).cast(DType::f8e3m4).as_double(0), 1);
  EXPECT_EQ(x.cast(DType::f8e5m2).byte_size(), 4);
}

}  // namespace
}  // namespace systole
