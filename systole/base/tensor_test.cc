#include "systole/base/tensor.h"

#include <gtest/gtest.h>

#include <functional>

#include "systole/base/testing/error_of.h"

namespace systole {
namespace {

using systole::testing::error_of;

TEST(TensorTest, CopiesShareAndCloneDoesNot) {
  Tensor a = Tensor::of<float>({2}, {1, 2});
  const Tensor shared = a;
  const Tensor cloned = a.clone();
  EXPECT_FALSE(a.unique());
  EXPECT_TRUE(cloned.unique());
  a.data<float>()[0] = 5;
  EXPECT_EQ(shared.data<float>()[0], 5);
  EXPECT_EQ(cloned.data<float>()[0], 1);
}

TEST(TensorTest, Scalars) {
  EXPECT_EQ(Tensor(2.5F).item<float>(), 2.5F);
  EXPECT_EQ(Tensor(7).dtype(), DType::s32);
  EXPECT_EQ(Tensor(true).dtype(), DType::pred);
  EXPECT_EQ(Tensor("text").item<std::string>(), "text");
  EXPECT_EQ(Tensor(std::string("a\0b", 3)).item<std::string>(), std::string("a\0b", 3));
  EXPECT_EQ(Tensor(int64_t{7}).dtype(), DType::s64);
}

TEST(TensorTest, DefaultIsInvalid) {
  const Tensor none;
  EXPECT_FALSE(none.valid());
  EXPECT_EQ(none.num_elements(), 0);
  EXPECT_FALSE(none.clone().valid());
  EXPECT_TRUE(none.identical(Tensor()));
  EXPECT_EQ(none.to_string(), "invalid");
}

TEST(TensorTest, MemoryIsAligned) {
  for (int i = 0; i < 20; ++i) {
    const Tensor tensor(DType::s8, {i});
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.raw()) % 64, 0U);
  }
}

TEST(TensorTest, SliceAndReshapeShareMemory) {
  Tensor a = Tensor::of<int32_t>({3, 2}, {1, 2, 3, 4, 5, 6});
  Tensor row = a.slice(1, 2);
  EXPECT_EQ(row.shape(), Shape({1, 2}));
  row.data<int32_t>()[0] = 30;
  EXPECT_EQ(a.reshape({6}).data<int32_t>()[2], 30);
  EXPECT_EQ(a.slice(3, 3).num_elements(), 0);
  EXPECT_THROW((void)a.slice(2, 4), Error);
  EXPECT_THROW((void)Tensor(1.0F).slice(0, 1), Error);
  EXPECT_THROW((void)a.reshape({5}), Error);
}

TEST(TensorTest, Strings) {
  Tensor a(DType::string, {3});
  a.data<std::string>()[1] = std::string(100, 'x');
  const Tensor b = a.clone();
  EXPECT_TRUE(a.identical(b));
  a.data<std::string>()[2] = "y";
  EXPECT_FALSE(a.identical(b));
}

TEST(TensorTest, FromVectors) {
  EXPECT_EQ(Tensor::of({2}, std::vector<double>{1, 2}).dtype(), DType::f64);
  const Tensor flags = Tensor::of({3}, std::vector<bool>{true, false, true});
  EXPECT_EQ(flags.to_string(), "pred[3] {true, false, true}");
  EXPECT_EQ(Tensor::of<std::string>({2}, {"a", "b"}).num_elements(), 2);
}

TEST(TensorTest, ViewReadsTheCallersMemory) {
  std::vector<float> memory = {1, 2, 3, 4};
  const Tensor view = Tensor::view(DType::f32, {2, 2}, memory.data());
  memory[3] = 9;
  EXPECT_EQ(view.as_double(3), 9);
  EXPECT_FALSE(view.unique());
}

TEST(TensorTest, InTheCallersMemory) {
  std::vector<float> memory = {1, 2, 3, 4};
  Tensor part = Tensor::lent(DType::f32, {2}, memory.data() + 2);
  EXPECT_TRUE(part.unique());
  EXPECT_TRUE(part.slice(0, 1).is_lent());
  EXPECT_FALSE(part.clone().is_lent());
  EXPECT_FALSE(Tensor::view(DType::f32, {2}, memory.data()).is_lent());
  const Tensor copy = part;
  EXPECT_FALSE(part.unique());
  part.data<float>()[1] = 9;
  EXPECT_EQ(memory, (std::vector<float>{1, 2, 3, 9}));
  EXPECT_EQ(copy.as_double(1), 9);
}

TEST(TensorTest, AdoptsMemoryUntilTheLastCopyIsGone) {
  const auto owner = std::make_shared<std::vector<float>>(4, 2.0F);
  Tensor adopted = Tensor::adopt(DType::f32, {2, 2}, owner->data(), owner);
  EXPECT_TRUE(adopted.unique());
  EXPECT_FALSE(adopted.is_lent());
  adopted.data<float>()[3] = 5;
  EXPECT_EQ((*owner)[3], 5);
  Tensor row = adopted.slice(1, 2);
  adopted = Tensor();
  EXPECT_EQ(owner.use_count(), 2);
  row = Tensor();
  EXPECT_EQ(owner.use_count(), 1);
}

TEST(TensorTest, Errors) {
  EXPECT_EQ(error_of([] {
              Tensor(DType::f32, {kUnknown, 2});
            }),
            "INVALID_ARGUMENT: Tensor: shape, got [?,2], expected no unknown dimension");
  EXPECT_EQ(error_of([] { Tensor(DType::resource, {}); }),
            "INVALID_ARGUMENT: Tensor: dtype, got resource, expected one with elements");
  EXPECT_EQ(error_of([] {
              Tensor::of<float>({3}, {1, 2});
            }),
            "INVALID_ARGUMENT: Tensor: number of elements, got 2, expected 3 for shape [3]");
  EXPECT_EQ(error_of([] {
              (void)Tensor::of<float>({2}, {1, 2}).reshape({kUnknown});
            }),
            "INVALID_ARGUMENT: Tensor: shape, got [?], expected no unknown dimension");
  EXPECT_EQ(error_of([] { (void)Tensor(1.0F).data<int32_t>(); }),
            "INVALID_ARGUMENT: Tensor: element type, got s32 for a tensor of f32");
  EXPECT_EQ(error_of([] { (void)Tensor::zeros(DType::f32, {2}).item<float>(); }),
            "INVALID_ARGUMENT: Tensor.item: number of elements, got 2, expected 1");
  EXPECT_EQ(error_of([] { (void)Tensor(1.0F).as_double(1); }),
            "INVALID_ARGUMENT: Tensor.as_double: index, got 1, expected in [0, 1)");
  EXPECT_EQ(error_of([] { Tensor(DType::f64, {int64_t{1} << 62}); }),
            "RESOURCE_EXHAUSTED: Tensor: no memory for f64[4611686018427387904]");
}

}  // namespace
}  // namespace systole
