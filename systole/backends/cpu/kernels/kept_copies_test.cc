#include "systole/backends/cpu/kernels/kept_copies.h"

#include <gtest/gtest.h>

namespace systole::cpu {
namespace {

TEST(KeptCopies, KeepsAConstantAtOnce) {
  KeptCopies copies;
  const int array = 0;
  const KeptCopies::Memory first = copies.take(&array, kConstantVersion, 64);
  ASSERT_NE(first.bytes, nullptr);
  EXPECT_FALSE(first.filled);
  copies.keep(&array, kConstantVersion, first.bytes);
  const KeptCopies::Memory second = copies.take(&array, kConstantVersion, 64);
  EXPECT_EQ(second.bytes, first.bytes);
  EXPECT_TRUE(second.filled);
}

TEST(KeptCopies, KeepsAnArgumentThatComesAgain) {
  KeptCopies copies;
  const int array = 0;
  EXPECT_EQ(copies.take(&array, 7, 64).bytes, nullptr);
  const KeptCopies::Memory second = copies.take(&array, 7, 64);
  ASSERT_NE(second.bytes, nullptr);
  EXPECT_FALSE(second.filled);
  copies.keep(&array, 7, second.bytes);
  EXPECT_TRUE(copies.take(&array, 7, 64).filled);
  // Another value at the same address.
  EXPECT_EQ(copies.take(&array, 8, 64).bytes, nullptr);
  EXPECT_FALSE(copies.take(&array, 8, 64).filled);
}

TEST(KeptCopies, KeepsNothingOfUnknownArrays) {
  KeptCopies copies;
  const int array = 0;
  for (int run = 0; run < 3; ++run) EXPECT_EQ(copies.take(&array, 0, 64).bytes, nullptr);
}

TEST(KeptCopies, ForgetsArraysThatDoNotComeAgain) {
  KeptCopies copies;
  const int array = 0;
  const std::weak_ptr<Tensor> kept = [&] {
    const KeptCopies::Memory memory = copies.take(&array, kConstantVersion, 64);
    copies.keep(&array, kConstantVersion, memory.bytes);
    return std::weak_ptr(memory.bytes);
  }();
  EXPECT_FALSE(kept.expired());
  std::vector<int> others(1100);
  for (int& other : others) copies.take(&other, 5, 64);
  EXPECT_TRUE(kept.expired());
}

}  // namespace
}  // namespace systole::cpu
