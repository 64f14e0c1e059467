#include "systole/base/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <limits>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "systole/base/testing/error_of.h"
#include "systole/base/testing/sanitized.h"

namespace systole {
namespace {

using Ranges = std::set<std::pair<int64_t, int64_t>>;

Ranges ranges_of(ThreadPool& pool, int64_t n, int64_t grain) {
  std::mutex mutex;
  Ranges ranges;
  pool.parallel_for(n, grain, [&](int64_t begin, int64_t end) {
    const std::lock_guard lock(mutex);
    ranges.emplace(begin, end);
  });
  return ranges;
}

TEST(ThreadPoolTest, ChunksCoverTheRangeOnceAndAreTheSameEveryTime) {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.num_threads(), threads);
    for (const int64_t n : {0, 1, 2, 7, 100, 1001}) {
      for (const int64_t grain : {0, 1, 3, 64, 5000}) {
        const Ranges ranges = ranges_of(pool, n, grain);
        int64_t next = 0;
        for (const auto& [begin, end] : ranges) {
          EXPECT_EQ(begin, next);
          EXPECT_LT(begin, end);
          EXPECT_GE(end - begin, end == n ? 1 : grain);
          next = end;
        }
        EXPECT_EQ(next, n);
        EXPECT_EQ(ranges_of(pool, n, grain), ranges);
      }
    }
  }
}

TEST(ThreadPoolTest, HugeRange) {
  ThreadPool pool(2);
  const int64_t n = std::numeric_limits<int64_t>::max();
  const Ranges ranges = ranges_of(pool, n, 1);
  EXPECT_EQ(ranges.begin()->first, 0);
  EXPECT_EQ(ranges.rbegin()->second, n);
}

TEST(ThreadPoolTest, WorkersHelp) {
  ThreadPool pool(2);
  std::atomic<int> arrived{0};
  // Each of two chunks waits for the other: only two threads can end this.
  pool.parallel_for(2, 1, [&](int64_t, int64_t) {
    ++arrived;
    while (arrived.load() < 2) std::this_thread::yield();
  });
  EXPECT_EQ(arrived.load(), 2);
}

TEST(ThreadPoolTest, WorkersWakeAfterSleep) {
  ThreadPool pool(2);
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::atomic<int> arrived{0};
    pool.parallel_for(2, 1, [&](int64_t, int64_t) {
      ++arrived;
      while (arrived.load() < 2) std::this_thread::yield();
    });
  }
}

int64_t nested_sum(ThreadPool& pool, int depth) {
  if (depth == 0) return 1;
  std::atomic<int64_t> sum{0};
  pool.parallel_for(5, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) sum += nested_sum(pool, depth - 1);
  });
  return sum;
}

TEST(ThreadPoolTest, CallsNestAndRunSideBySide) {
  ThreadPool pool(3);
  std::vector<std::thread> callers;
  callers.reserve(4);
  std::atomic<int> right{0};
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      for (int j = 0; j < 20; ++j) {
        if (nested_sum(pool, 4) == 625) ++right;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(right.load(), 80);
}

TEST(ThreadPoolTest, MoreCallsThanSlotsRunInPlace) {
  ThreadPool pool(2);
  EXPECT_EQ(nested_sum(pool, 1), 5);
  std::atomic<int> depth_reached{0};
  const std::function<void(int)> descend = [&](int depth) {
    ++depth_reached;
    if (depth == 100) return;
    pool.parallel_for(2, 1, [&](int64_t begin, int64_t) {
      if (begin == 0) descend(depth + 1);
    });
  };
  descend(1);
  EXPECT_EQ(depth_reached.load(), 100);
}

TEST(ThreadPoolTest, FirstChunksExceptionIsRethrownAfterAllHaveEnded) {
  for (const int threads : {1, 2, 4}) {
    ThreadPool pool(threads);
    for (int round = 0; round < 50; ++round) {
      std::atomic<int64_t> covered{0};
      try {
        pool.parallel_for(100, 1, [&](int64_t begin, int64_t end) {
          covered += end - begin;
          throw std::runtime_error(std::to_string(begin));
        });
        FAIL();
      } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "0");
      }
      EXPECT_EQ(covered.load(), 100);
      EXPECT_EQ(ranges_of(pool, 10, 10).size(), 1U);  // the pool stays usable
    }
  }
}

TEST(ThreadPoolTest, ConstBodyAndFunctionPointer) {
  ThreadPool pool(2);
  std::atomic<int64_t> sum{0};
  const auto body = [&](int64_t begin, int64_t end) { sum += end - begin; };
  pool.parallel_for(10, 1, body);
  pool.parallel_for(
      10, 1,
      [](void* context, int64_t begin, int64_t end) {
        *static_cast<std::atomic<int64_t>*>(context) += end - begin;
      },
      &sum);
  EXPECT_EQ(sum.load(), 20);
}

TEST(ThreadPoolTest, PoolsComeAndGo) {
  for (int i = 0; i < 50; ++i) {
    ThreadPool pool(3);
    const int depth = i % 2;
    EXPECT_EQ(nested_sum(pool, depth), depth == 0 ? 1 : 5);
  }
  EXPECT_GE(ThreadPool::global().num_threads(), 1);
}

// The system refuses threads: there is no room for their stacks.
TEST(ThreadPoolTest, ThreadsThatCannotBeStartedAreAnError) {
  if (testing::kSanitized) GTEST_SKIP() << "sanitizers take address space of their own";
  std::ifstream statm("/proc/self/statm");
  rlim_t pages = 0;
  statm >> pages;
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  const rlimit tight{.rlim_cur = pages * 4096 + (rlim_t{128} << 20), .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &tight), 0);
  const std::string error = testing::error_of([] { const ThreadPool pool(10000); });
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_NE(error.find("RESOURCE_EXHAUSTED: ThreadPool: threads, got "), std::string::npos)
      << error;
  EXPECT_EQ(ThreadPool(3).num_threads(), 3);
}

}  // namespace
}  // namespace systole
