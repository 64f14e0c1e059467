#include "systole/base/block_cache.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

namespace systole {
namespace {

constexpr size_t kMegabyte = 1 << 20;

TEST(BlockCacheTest, BlocksAreUsedAgain) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the address sanitizer looks for use after free: nothing is kept";
#endif
  void* const first = allocate_block(kMegabyte + 5);
  ASSERT_NE(first, nullptr);
  free_block(first, kMegabyte + 5);
  void* const second = allocate_block(kMegabyte + 7);
  EXPECT_EQ(second, first);
  void* const third = allocate_block(kMegabyte + 7);
  EXPECT_NE(third, second);
  free_block(second, kMegabyte + 7);
  free_block(third, kMegabyte + 7);
}

TEST(BlockCacheTest, BlocksOfAllSizes) {
  for (const size_t bytes :
       {size_t{65}, 64 * size_t{1024}, 5 * kMegabyte, 32 * kMegabyte, 33 * kMegabyte}) {
    for (int i = 0; i < 4; ++i) {
      void* const block = allocate_block(bytes);
      ASSERT_NE(block, nullptr);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 64, 0U);
      std::memset(block, i, bytes);
      free_block(block, bytes);
    }
  }
  EXPECT_EQ(allocate_block(size_t{1} << 60), nullptr);
}

TEST(BlockCacheTest, FromManyThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (size_t i = 1; i < 200; ++i) {
        const size_t bytes = (i % 5 + 1) * 100'000;
        auto* const block = static_cast<char*>(allocate_block(bytes));
        std::memset(block, t, bytes);
        EXPECT_EQ(block[bytes - 1], t);
        free_block(block, bytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace systole
