#include "systole/runtime/collective.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>

#include "systole/base/testing/error_of.h"

namespace systole::runtime {
namespace {

using systole::testing::error_of;
using ::testing::HasSubstr;

// Calls `work` with each rank, on a thread of its own; what each threw.
std::vector<std::string> on_ranks(int size, const std::function<void(Collective&)>& work,
                                  std::chrono::milliseconds timeout = std::chrono::seconds(20)) {
  auto ranks = make_in_memory_collectives(size, timeout);
  std::vector<std::string> errors(ranks.size());
  std::vector<std::thread> threads;
  for (size_t r = 0; r < ranks.size(); ++r) {
    threads.emplace_back([&, r] { errors[r] = error_of([&] { work(*ranks[r]); }); });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

TEST(Collective, AddsInTheOrderOfTheRanks) {
  // In f32, 1e8 + 1 - 1e8 is 0, and 1 + (1e8 - 1e8) is 1.
  const float values[] = {1e8F, 1, -1e8F, 0.5F};
  const auto errors = on_ranks(4, [&](Collective& rank) {
    for (int i = 0; i < 50; ++i) {
      Tensor value = Tensor::of<float>({2}, {values[rank.rank()], 1});
      rank.all_reduce(value, Reduction::sum);
      EXPECT_TRUE(value.identical(Tensor::of<float>({2}, {0.5F, 4})));
    }
  });
  EXPECT_THAT(errors, ::testing::Each("no error"));
}

TEST(Collective, ReducesEveryKindOfNumber) {
  on_ranks(3, [&](Collective& rank) {
    for (const DType dtype :
         {DType::f32, DType::f64, DType::bf16, DType::f16, DType::s32, DType::s64, DType::u8}) {
      const auto reduced = [&](Reduction reduction) {
        Tensor value = Tensor::full(dtype, {1}, rank.rank() + 1);
        rank.all_reduce(value, reduction);
        return value.as_double(0);
      };
      EXPECT_EQ(reduced(Reduction::sum), 6);
      EXPECT_EQ(reduced(Reduction::min), 1);
      EXPECT_EQ(reduced(Reduction::max), 3);
    }
  });
}

TEST(Collective, RoundsHalvesOnce) {
  // In bf16 256 + 1 is 256.
  on_ranks(3, [](Collective& rank) {
    Tensor value = Tensor::full(DType::bf16, {}, rank.rank() == 0 ? 256 : 1);
    rank.all_reduce(value, Reduction::sum);
    EXPECT_EQ(value.as_double(0), 258);
  });
}

TEST(Collective, GathersAndBroadcasts) {
  const auto errors = on_ranks(3, [](Collective& rank) {
    EXPECT_EQ(rank.size(), 3);
    const Tensor own = Tensor::of<int32_t>({2}, {rank.rank(), 10 * rank.rank()});
    EXPECT_TRUE(rank.all_gather(own).identical(Tensor::of<int32_t>({3, 2}, {0, 0, 1, 10, 2, 20})));
    Tensor value = own.clone();
    rank.broadcast(value, 2);
    EXPECT_TRUE(value.identical(Tensor::of<int32_t>({2}, {2, 20})));
    rank.barrier();
  });
  EXPECT_THAT(errors, ::testing::Each("no error"));
}

TEST(Collective, WaitsAtABarrier) {
  std::atomic<int> arrived = 0;
  on_ranks(4, [&](Collective& rank) {
    for (int i = 1; i <= 20; ++i) {
      ++arrived;
      rank.barrier();
      EXPECT_GE(arrived, 4 * i);
      rank.barrier();
    }
  });
}

TEST(Collective, TellsEveryRankOfTypesThatDiffer) {
  const auto errors = on_ranks(3, [](Collective& rank) {
    Tensor value = Tensor::zeros(DType::f32, {rank.rank() == 1 ? 2 : 3});
    rank.all_reduce(value, Reduction::sum);
  });
  EXPECT_THAT(errors, ::testing::Each(HasSubstr("INVALID_ARGUMENT: collective: operation")));
}

TEST(Collective, TellsEveryRankOfOperationsThatDiffer) {
  const auto errors = on_ranks(2, [](Collective& rank) {
    Tensor value(1.0F);
    if (rank.rank() == 0) rank.broadcast(value, 0);
    if (rank.rank() == 1) rank.barrier();
  });
  EXPECT_THAT(errors,
              ::testing::Each(HasSubstr("broadcast from 0 of f32[] on one rank and barrier")));
}

TEST(Collective, EndsWhenARankLeavesOrStaysAway) {
  auto ranks = make_in_memory_collectives(2);
  ranks[1].reset();
  EXPECT_THAT(error_of([&] { ranks[0]->barrier(); }), HasSubstr("ABORTED"));
  const auto late = make_in_memory_collectives(2, std::chrono::milliseconds(20));
  EXPECT_THAT(error_of([&] { late[0]->barrier(); }), HasSubstr("DEADLINE_EXCEEDED"));
  EXPECT_THAT(error_of([&] { late[1]->barrier(); }), HasSubstr("DEADLINE_EXCEEDED"))
      << "the group cannot be used after it";
}

TEST(Collective, RefusesWhatHasNoOrder) {
  const auto ranks = make_in_memory_collectives(1);
  Tensor flag(true);
  EXPECT_THAT(error_of([&] { ranks[0]->all_reduce(flag, Reduction::sum); }),
              HasSubstr("INVALID_ARGUMENT: all_reduce: dtype, got pred"));
}

}  // namespace
}  // namespace systole::runtime
