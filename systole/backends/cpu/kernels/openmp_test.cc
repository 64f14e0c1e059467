#include "systole/backends/cpu/kernels/openmp.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

namespace systole::cpu {
namespace {

TEST(Openmp, CoversEveryElementOnce) {
  for (const int64_t n : {0, 1, 2, 7, 100, 1001}) {
    for (const int64_t grain : {1, 3, 1000}) {
      std::vector<std::atomic<int>> seen(static_cast<size_t>(n));
      openmp_parallel_for(
          3, n, grain,
          [](void* context, int64_t begin, int64_t end) {
            auto& counts = *static_cast<std::vector<std::atomic<int>>*>(context);
            for (int64_t i = begin; i < end; ++i) ++counts[static_cast<size_t>(i)];
          },
          &seen);
      for (const auto& count : seen) EXPECT_EQ(count, 1);
    }
  }
}

TEST(Openmp, GivesNoChunkLessThanTheGrain) {
  struct Sizes {
    std::mutex mutex;
    std::vector<int64_t> all;
  } sizes;
  openmp_parallel_for(
      2, 100, 30,
      [](void* context, int64_t begin, int64_t end) {
        auto& s = *static_cast<Sizes*>(context);
        const std::lock_guard lock(s.mutex);
        s.all.push_back(end - begin);
      },
      &sizes);
  EXPECT_EQ(sizes.all.size(), 3U);
  for (const int64_t size : sizes.all) EXPECT_GE(size, 30);
}

TEST(Openmp, RunsForManyCallers) {
  std::vector<std::thread> threads;
  std::vector<std::atomic<int64_t>> sums(4);
  for (auto& sum : sums) {
    threads.emplace_back([&sum] {
      for (int i = 0; i < 50; ++i) {
        openmp_parallel_for(
            2, 1000, 1,
            [](void* context, int64_t begin, int64_t end) {
              for (int64_t k = begin; k < end; ++k)
                *static_cast<std::atomic<int64_t>*>(context) += k;
            },
            &sum);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& sum : sums) EXPECT_EQ(sum, 50 * 999 * 1000 / 2);
}

}  // namespace
}  // namespace systole::cpu
