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
void on_processes(int count, Work&& work, const ProcessGroup::OnFailure& on_failure = nullptr) {
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

// The sum of the lanes, [replicas, count], of all processes.
void add_up(ProcessGroup& group, const Tensor& lanes, Tensor& sum) {
  const DType dtype = lanes.dtype();
  const int64_t num_lanes = lanes.shape()[0];
  const int64_t count = lanes.shape()[1];
  Tensor workspace(dtype, {group.sum_rows(dtype, num_lanes), count});
  const ProcessGroup::SumTerm term{.lanes = lanes.raw(), .count = count};
  group.start_sums(dtype, {&term, 1}, num_lanes, count, workspace.raw());
  group.finish_sums(dtype, num_lanes, count, workspace.raw(), sum.raw());
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
    add_up(alone, lanes, want);
    for (const int processes : {2, 3, 4, 6, 12}) {
      const int64_t own = kReplicas / processes;
      on_processes(processes, [&](ProcessGroup& group) {
        Tensor sum(dtype, {kCount});
        const Tensor share = lanes.slice(group.rank() * own, (group.rank() + 1) * own);
        add_up(group, share, sum);
        EXPECT_TRUE(sum.identical(want)) << processes << " processes, " << to_string(dtype);
      });
    }
  }
}

// Three arrays, of which two go together, on one thread for two processes: no start waits for the
// other process. The workspaces of the first are also the sums.
TEST(ProcessGroup, GoesOnWhileSumsAreExchanged) {
  for (const int64_t lanes : {1, 2, 3}) {
    auto steps = make_in_memory_collectives(2, std::chrono::seconds(20));
    auto rare = make_in_memory_collectives(2, std::chrono::seconds(20));
    std::vector<std::unique_ptr<ProcessGroup>> groups;
    std::vector<Tensor> joined;
    std::vector<Tensor> alone;
    const Tensor a = Tensor::full(DType::f32, {lanes, 2}, 1);
    const Tensor b = Tensor::full(DType::f32, {lanes, 3}, 10);
    const Tensor c = Tensor::full(DType::f32, {lanes, 4}, 100);
    for (size_t p = 0; p < 2; ++p) {
      groups.push_back(
          std::make_unique<ProcessGroup>(std::move(steps[p]), std::move(rare[p]), nullptr));
      const int64_t rows = groups[p]->sum_rows(DType::f32, lanes);
      EXPECT_EQ(rows, lanes == 3 ? 6 : 1);
      joined.emplace_back(DType::f32, Shape{rows, 6});
      alone.emplace_back(DType::f32, Shape{rows, 4});
      const ProcessGroup::SumTerm terms[] = {{a.raw(), 2, 0}, {b.raw(), 3, 3}};
      const ProcessGroup::SumTerm term{c.raw(), 4, 0};
      groups[p]->start_sums(DType::f32, terms, lanes, 6, joined[p].raw());
      groups[p]->start_sums(DType::f32, {&term, 1}, lanes, 4, alone[p].raw());
    }
    const auto n = static_cast<float>(2 * lanes);
    for (size_t p = 0; p < 2; ++p) {
      Tensor sums(DType::f32, {4});
      groups[p]->finish_sums(DType::f32, lanes, 4, alone[p].raw(), sums.raw());
      EXPECT_THAT(sums.data<float>(), ElementsAre(100 * n, 100 * n, 100 * n, 100 * n));
      groups[p]->finish_sums(DType::f32, lanes, 6, joined[p].raw(), joined[p].raw());
      EXPECT_THAT(joined[p].data<float>().first(6), ElementsAre(n, n, 0, 10 * n, 10 * n, 10 * n));
    }
  }
}

TEST(ProcessGroup, Agrees) {
  on_processes(3, [](ProcessGroup& group) {
    std::vector<int64_t> numbers = {group.rank(), 5 - group.rank()};
    group.reduce_min(numbers);
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
  alone.reduce_min(numbers);
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
        const Tensor lanes = Tensor::zeros(DType::f32, {2, 3});
        Tensor sum(DType::f32, {3});
        EXPECT_THAT(error_of([&] { add_up(group, lanes, sum); }), HasSubstr("ABORTED"));
        EXPECT_THAT(error_of([&] { group.sum_of(1); }), HasSubstr("ABORTED"));
      },
      [&](const Error& error) {
        EXPECT_EQ(error.code(), Code::aborted);
        ++told;
      });
  EXPECT_EQ(told, 2);
}

}  // namespace
}  // namespace systole::runtime
