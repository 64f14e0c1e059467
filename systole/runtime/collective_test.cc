#include "systole/runtime/collective.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>

#include "systole/runtime/testing/collective_contract.h"

namespace systole::runtime {
namespace {

using systole::testing::error_of;
using ::testing::HasSubstr;

// Calls `work` with each rank, on a thread of its own.
void on_ranks(int size, const std::function<void(std::unique_ptr<Collective>)>& work) {
  auto ranks = make_in_memory_collectives(size, std::chrono::seconds(20));
  std::vector<std::thread> threads;
  for (auto& rank : ranks) {
    threads.emplace_back([&work, own = std::move(rank)]() mutable {
      EXPECT_EQ(error_of([&] { work(std::move(own)); }), "no error");
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Collective, KeepsItsContract) {
  using Rule = void (*)(Collective&);
  for (const int size : {2, 3, 4, 5}) {
    for (const Rule rule : {contract::adds_in_pairs, contract::reduces_every_kind_of_number,
                            contract::rounds_halves_once, contract::gathers_and_broadcasts,
                            contract::tells_every_rank_of_types_that_differ,
                            contract::tells_every_rank_of_operations_that_differ}) {
      on_ranks(size, [&](auto rank) { rule(*rank); });
    }
  }
  on_ranks(2, contract::ends_when_a_rank_leaves);
  on_ranks(1, [](auto rank) { contract::refuses_what_has_no_order(*rank); });
}

TEST(Collective, WaitsAtABarrier) {
  std::atomic<int> arrived = 0;
  on_ranks(4, [&](auto rank) {
    for (int i = 1; i <= 20; ++i) {
      ++arrived;
      rank->barrier();
      EXPECT_GE(arrived, 4 * i);
      rank->barrier();
    }
  });
}

TEST(Collective, EndsWhenARankStaysAway) {
  const auto late = make_in_memory_collectives(2, std::chrono::milliseconds(20));
  EXPECT_THAT(error_of([&] { late[0]->barrier(); }), HasSubstr("DEADLINE_EXCEEDED"));
  EXPECT_THAT(error_of([&] { late[1]->barrier(); }), HasSubstr("DEADLINE_EXCEEDED"))
      << "the group cannot be used after it";
}

}  // namespace
}  // namespace systole::runtime
