#include "systole/base/dtype.h"

#include <gtest/gtest.h>

namespace systole {
namespace {

TEST(DTypeTest, SizesAreThoseOfTheElementTypes) {
  for (int i = 1; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (!is_numeric(dtype) || is_small_float(dtype)) continue;
    visit_dtype(dtype, [&]<class T>() {
      EXPECT_EQ(dtype_of<T>(), dtype);
      EXPECT_EQ(sizeof(T), static_cast<size_t>(size_of(dtype))) << to_string(dtype);
    });
  }
}

TEST(DTypeTest, NamesComeBack) {
  for (int i = 1; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(dtype_from_tf(dtype_info(dtype).tf_name), dtype);
    if (!is_numeric(dtype)) continue;
    EXPECT_EQ(dtype_from_mlir(dtype_info(dtype).mlir_name), dtype);
  }
  EXPECT_EQ(dtype_from_tf("float"), DType::f32);
  EXPECT_EQ(dtype_from_tf("tf.double"), DType::f64);
  EXPECT_EQ(dtype_from_mlir("string"), std::nullopt);
  EXPECT_EQ(dtype_from_mlir("f8"), std::nullopt);
}

TEST(DTypeTest, UnknownNameIsAnError) {
  try {
    (void)dtype_from_tf("float31");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(),
              "dtype: unknown name, got 'float31', expected one such as float32, int64, bool");
  }
}

TEST(DTypeTest, Facts) {
  EXPECT_TRUE(is_floating(DType::bf16));
  EXPECT_FALSE(is_integer(DType::pred));
  EXPECT_TRUE(is_complex(DType::c64));
  EXPECT_EQ(real_dtype(DType::c128), DType::f64);
  EXPECT_EQ(real_dtype(DType::s8), DType::s8);
  EXPECT_FALSE(is_numeric(DType::string));
  EXPECT_EQ(fmt::format("{:>5}", DType::f32), "  f32");
}

TEST(DTypeTest, FourBitIntegersWrap) {
  EXPECT_EQ(static_cast<int>(int4(8)), -8);
  EXPECT_EQ(static_cast<int>(int4(-9)), 7);
  EXPECT_EQ(static_cast<int>(uint4(17)), 1);
  EXPECT_EQ(static_cast<int>(uint4(-1)), 15);
}

TEST(DTypeTest, TwoBitIntegersWrap) {
  EXPECT_EQ(static_cast<int>(int2(2)), -2);
  EXPECT_EQ(static_cast<int>(int2(-3)), 1);
  EXPECT_EQ(static_cast<int>(uint2(5)), 1);
  EXPECT_EQ(static_cast<int>(uint2(-1)), 3);
}

TEST(DTypeTest, VisitRefusesWhatHasNoElements) {
  EXPECT_THROW(visit_dtype(DType::token, []<class T>() {}), Error);
  EXPECT_THROW(visit_dtype(DType::f8e5m2, []<class T>() {}), Error);
}

}  // namespace
}  // namespace systole
