#include "systole/backends/cpu/kernels/scratch_cache.h"

#include <gtest/gtest.h>

#include <utility>

namespace systole::cpu {
namespace {

constexpr int64_t kFewElements = 1000;
constexpr int64_t kManyElements = 100000;

TEST(ScratchCache, KernelsThatRunOneAfterAnotherShareABlock) {
  ScratchCache first;
  ScratchCache second;
  auto memory = first.take(kManyElements);
  const void* const place = memory->raw();
  first.give_back(std::move(memory));
  memory = second.take(kFewElements);
  EXPECT_EQ(memory->raw(), place);
  second.give_back(std::move(memory));
}

TEST(ScratchCache, KernelsThatRunAtTheSameTimeDoNot) {
  ScratchCache first;
  ScratchCache second;
  auto a = first.take(kFewElements);
  auto b = second.take(kFewElements);
  EXPECT_NE(a->raw(), b->raw());
  first.give_back(std::move(a));
  second.give_back(std::move(b));
}

TEST(ScratchCache, ALargerBlockTakesTheSmallOnesPlace) {
  ScratchCache cache;
  cache.give_back(cache.take(kFewElements));
  cache.give_back(cache.take(kManyElements));
  auto memory = cache.take(kFewElements);
  EXPECT_EQ(memory->num_elements(), kManyElements);
  cache.give_back(std::move(memory));
}

TEST(ScratchCache, TheSmallestThatSufficesComesFirst) {
  ScratchCache cache;
  auto small = cache.take(kFewElements);
  auto large = cache.take(kManyElements);
  cache.give_back(std::move(large));
  cache.give_back(std::move(small));
  small = cache.take(kFewElements / 2);
  EXPECT_EQ(small->num_elements(), kFewElements);
  large = cache.take(kFewElements / 2);
  EXPECT_EQ(large->num_elements(), kManyElements);
  cache.give_back(std::move(small));
  cache.give_back(std::move(large));
}

TEST(ScratchCache, TheLastCacheFreesTheBlocks) {
  {
    ScratchCache cache;
    cache.give_back(cache.take(kManyElements));
  }
  ScratchCache cache;
  auto memory = cache.take(kFewElements);
  EXPECT_EQ(memory->num_elements(), kFewElements);
  cache.give_back(std::move(memory));
}

}  // namespace
}  // namespace systole::cpu
