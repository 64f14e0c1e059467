#include <gtest/gtest.h>

#include "systole/base/tensor.h"

namespace systole {
namespace {

TEST(TensorPrintTest, Nested) {
  EXPECT_EQ(Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}).to_string(),
            "f32[2,3] {{1, 2, 3}, {4, 5, 6}}");
  EXPECT_EQ(Tensor(2.5F).to_string(), "f32[] 2.5");
  EXPECT_EQ(Tensor::zeros(DType::f32, {0, 3}).to_string(), "f32[0,3] {}");
  EXPECT_EQ(Tensor::zeros(DType::f32, {3, 0}).to_string(), "f32[3,0] {}");
}

TEST(TensorPrintTest, Limit) {
  const Tensor tensor = Tensor::of<int32_t>({3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(tensor.to_string(3), "s32[3,2] {{1, 2}, {3, ...}, ...}");
  EXPECT_EQ(tensor.to_string(4), "s32[3,2] {{1, 2}, {3, 4}, ...}");
  EXPECT_EQ(tensor.to_string(6), "s32[3,2] {{1, 2}, {3, 4}, {5, 6}}");
  EXPECT_EQ(tensor.to_string(0), "s32[3,2] {...}");
  EXPECT_EQ(Tensor::zeros(DType::u8, {1000}).to_string().size(),
            std::string("u8[1000] {...}").size() + 300);
}

TEST(TensorPrintTest, EveryKindOfElement) {
  EXPECT_EQ(Tensor::of<std::string>({2}, {"a\"b\\", "\n\x7f"}).to_string(),
            R"(string[2] {"a\"b\\", "\n\x7f"})");
  EXPECT_EQ(Tensor::of<uint8_t>({2}, {65, 255}).to_string(), "u8[2] {65, 255}");
  EXPECT_EQ(Tensor::of<int8_t>({1}, {-1}).to_string(), "s8[1] {-1}");
  EXPECT_EQ(Tensor::of<int4>({1}, {-8}).to_string(), "s4[1] {-8}");
  EXPECT_EQ(Tensor::of<bfloat16>({2}, {0.1F, 3.0F}).to_string(), "bf16[2] {0.1001, 3}");
  EXPECT_EQ(Tensor::of<float16>({1}, {0.1F}).to_string(), "f16[1] {0.099976}");
  EXPECT_EQ(Tensor::of<float>({2}, {0.1F, 1e20F}).to_string(), "f32[2] {0.1, 1e+20}");
  EXPECT_EQ(Tensor(0.1).to_string(), "f64[] 0.1");
}

}  // namespace
}  // namespace systole
