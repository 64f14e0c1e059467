#include "systole/keras/preprocessing/numpy_random.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace systole::keras {
namespace {

using ::testing::ElementsAre;

// All numbers are NumPy 1.24's.
TEST(NumpyRandomTest, ShufflesAsNumpy) {
  EXPECT_THAT(NumpyRandom(0).permutation(10), ElementsAre(2, 8, 4, 9, 1, 6, 7, 3, 0, 5));
  std::vector<int64_t> large = NumpyRandom(113).permutation(25000);
  large.resize(5);
  EXPECT_THAT(large, ElementsAre(7798, 13226, 18078, 793, 17499));
  EXPECT_TRUE(NumpyRandom(1).permutation(0).empty());
  EXPECT_THAT(NumpyRandom(1).permutation(1), ElementsAre(0));
}

TEST(NumpyRandomTest, DrawsAsNumpy) {
  NumpyRandom random(42);
  EXPECT_NEAR(random.uniform(-2, 3), -0.12729941, 5e-9);
  EXPECT_NEAR(random.uniform(-2, 3), 2.75357153, 5e-9);
  EXPECT_NEAR(random.uniform(-2, 3), 1.65996971, 5e-9);
  EXPECT_EQ(random.below_or_equal(6), 4U);  // numpy.random.choice(7)
  EXPECT_EQ(random.below_or_equal(1), 0U);  // numpy.random.choice([-1, 1])
  EXPECT_THAT(random.permutation(6), ElementsAre(5, 0, 3, 4, 2, 1));
  EXPECT_DOUBLE_EQ(random.random(), 0.8661761457749352);
}

TEST(NumpyRandomTest, NumbersBeyond32Bits) {
  NumpyRandom random(3);
  const uint64_t max = (uint64_t{1} << 40U) - 1;
  uint64_t largest = 0;
  for (int i = 0; i < 100; ++i) largest = std::max(largest, random.below_or_equal(max));
  EXPECT_LE(largest, max);
  EXPECT_GT(largest, uint64_t{1} << 38U);
}

}  // namespace
}  // namespace systole::keras
