#include "systole/base/shape.h"

#include <gtest/gtest.h>

namespace systole {
namespace {

TEST(ShapeTest, Elements) {
  EXPECT_EQ(Shape().num_elements(), 1);
  EXPECT_EQ(Shape({2, 3, 4}).num_elements(), 24);
  EXPECT_EQ(Shape({2, 0, 4}).num_elements(), 0);
  EXPECT_EQ(Shape({2, 3, 4}).strides(), (Dims{12, 4, 1}));
}

TEST(ShapeTest, AnEmptyShapeNeverOverflows) {
  const int64_t big = int64_t{1} << 40;
  EXPECT_EQ(Shape({big, big, 0}).num_elements(), 0);
  EXPECT_EQ(Shape({0, big, big}).strides(), (Dims{1, 1, 1}));
}

TEST(ShapeTest, OverflowIsAnError) {
  const int64_t big = int64_t{1} << 32;
  try {
    (void)Shape({big, big}).num_elements();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(),
              "Shape: number of elements, got [4294967296,4294967296], expected below 2^63");
  }
}

TEST(ShapeTest, SizesOfAxes) {
  Shape shape{3, 5, 7};
  EXPECT_EQ(shape[0], 3);
  EXPECT_EQ(shape[-1], 7);
  EXPECT_EQ(shape[-3], 3);
  shape.set_dim(-2, 6);
  EXPECT_EQ(shape, Shape({3, 6, 7}));
  for (const int axis : {3, -4}) EXPECT_THROW((void)shape[axis], Error);
  EXPECT_THROW(shape.set_dim(3, 1), Error);
  EXPECT_THROW((void)Shape()[-1], Error);
}

TEST(ShapeTest, Unknown) {
  const Shape shape{kUnknown, 28};
  EXPECT_FALSE(shape.is_static());
  EXPECT_EQ(shape.to_string(), "[?,28]");
  EXPECT_THROW((void)shape.num_elements(), Error);
  EXPECT_THROW((void)Shape({kUnknown, 0}).num_elements(), Error);
  EXPECT_TRUE(shape.compatible_with({5, 28}));
  EXPECT_FALSE(shape.compatible_with({5, 29}));
  EXPECT_FALSE(shape.compatible_with({5}));
  EXPECT_THROW(Shape({-2}), Error);
}

TEST(ShapeTest, Text) {
  EXPECT_EQ(Shape().to_string(), "[]");
  EXPECT_EQ((TensorType{DType::f32, {kUnknown, 3}}).to_string(), "f32[?,3]");
  EXPECT_EQ(fmt::format("{}", TensorType{DType::pred, {}}), "pred[]");
}

TEST(ShapeTest, NormalizeAxis) {
  EXPECT_EQ(normalize_axis("op", -1, 3), 2);
  EXPECT_EQ(normalize_axis("op", 0, 3), 0);
  try {
    (void)normalize_axis("reduce_sum", 3, 3);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "reduce_sum: axis, got 3, expected in [-3, 3)");
  }
}

}  // namespace
}  // namespace systole
