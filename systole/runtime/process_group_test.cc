#include "systole/runtime/process_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "systole/base/random.h"
#include "systole/base/testing/error_of.h"

namespace systole::runtime {
namespace {

using systole::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Calls `work` with the group of each process, on a thread of its own.
template <class Work>
void on_processes(int count, Work&& work, ProcessGroup::OnFailure on_failure = nullptr) {
  auto steps = make_in_memory_collectives(count, std::chrono::seconds(20));
  auto rare = make_in_memory_collectives(count, std::chrono::seconds(20));
  std::vector<std::thread> threads;
  for (size_t p = 0; p < steps.size(); ++p) {
    threads.emplace_back([&, p] {
      ProcessGroup group(std::move(steps[p]), std::move(rare[p]), on_failure);
      work(group);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(ProcessGroup, AddsReplicasInOneOrder) {
  constexpr int64_t kReplicas = 12;
  constexpr int64_t kCount = 1000;
  for (const DType dtype : {DType::f32, DType::bf16, DType::s32, DType::c64}) {
    Tensor lanes(DType::f32, {kReplicas, kCount});
    RandomStream random(3);
    for (float& x : lanes.data<float>()) x = static_cast<float>(random.next_uniform() * 1e4);
    lanes = lanes.cast(dtype);
    Tensor want(dtype, {kCount});
    ProcessGroup alone;
    alone.sum_replicas(dtype, lanes.raw(), kReplicas, kCount, want.raw());
    for (const int processes : {2, 3, 4, 6, 12}) {
      const int64_t own = kReplicas / processes;
      on_processes(processes, [&](ProcessGroup& group) {
        Tensor sum(dtype, {kCount});
        const Tensor share = lanes.slice(group.rank() * own, (group.rank() + 1) * own);
        group.sum_replicas(dtype, share.raw(), own, kCount, sum.raw());
        EXPECT_TRUE(sum.identical(want)) << processes << " processes, " << to_string(dtype);
      });
    }
  }
}

TEST(ProcessGroup, Agrees) {
  on_processes(3, [](ProcessGroup& group) {
    std::vector<int64_t> numbers = {group.rank(), 5 - group.rank()};
    group.take_least(numbers);
    EXPECT_THAT(numbers, ElementsAre(0, 3));
    EXPECT_EQ(group.sum_of(group.rank() + 1), 6);
    EXPECT_EQ(group.broadcast(group.rank() == 0 ? "from the first" : ""), "from the first");
    EXPECT_EQ(group.broadcast(std::string()), "");
    EXPECT_THAT(group.gather(std::string(static_cast<size_t>(group.rank()), 'x')),
                ElementsAre("", "x", "xx"));
    group.barrier();
  });
}

TEST(ProcessGroup, OfOneProcessNeedsNoOthers) {
  ProcessGroup alone;
  std::vector<int64_t> numbers = {7};
  alone.take_least(numbers);
  EXPECT_THAT(numbers, ElementsAre(7));
  EXPECT_EQ(alone.broadcast("text"), "text");
  EXPECT_THAT(alone.gather("text"), ElementsAre("text"));
  alone.barrier();
}

TEST(ProcessGroup, TellsOfProcessesThatAreGone) {
  std::atomic<int> told = 0;
  on_processes(
      2,
      [](ProcessGroup& group) {
        if (group.rank() == 1) return;
        EXPECT_THAT(error_of([&] { group.sum_of(1); }), HasSubstr("ABORTED"));
      },
      [&](const Error& error) {
        EXPECT_EQ(error.code(), Code::aborted);
        ++told;
      });
  EXPECT_EQ(told, 1);
}

}  // namespace
}  // namespace systole::runtime
