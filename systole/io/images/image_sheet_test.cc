#include "systole/io/images/image_sheet.h"

#include <gtest/gtest.h>

namespace systole {
namespace {

TEST(ImageSheetTest, PlacesImages) {
  ImageSheet sheet(2, 2, 8);
  EXPECT_TRUE(sheet.empty());
  sheet.add(Tensor::full(DType::u8, {4, 4, 1}, 200));
  sheet.add(Tensor::full(DType::u8, {100, 50, 3}, 100));
  EXPECT_EQ(sheet.sheet().shape(), (Shape{10, 20, 3}));
  EXPECT_EQ(sheet.sheet().data<uint8_t>()[0], 200);
  sheet.add(Tensor::full(DType::u8, {1, 1000, 1}, 1));
  EXPECT_FALSE(sheet.full());
  sheet.add(Tensor::full(DType::u8, {1, 1, 1}, 1));
  EXPECT_TRUE(sheet.full());
  EXPECT_EQ(sheet.sheet().shape(), (Shape{20, 20, 3}));
}

}  // namespace
}  // namespace systole
