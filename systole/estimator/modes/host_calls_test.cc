// Which steps of a loop call the host, however launches divide it, and with which rows.
#include "systole/estimator/modes/host_calls.h"

#include <gmock/gmock.h>

#include "systole/graph/api/array_ops.h"

namespace systole::estimator {
namespace {

using ::testing::ElementsAre;

class HostCallsTest : public ::testing::Test {
 protected:
  Graph graph_;
  GraphScope scope_{graph_};
  train::Heartbeat heartbeat_{0};
};

TEST_F(HostCallsTest, every_n_th_step_is_counted_from_the_loop_on) {
  std::vector<float> seen;
  const HostCall host_call{
      .fn = [&](std::span<const Tensor> values) { seen.push_back(values[0].data<float>()[0]); },
      .tensors = {placeholder(DType::f32, {})}};
  constexpr int64_t kLoop = 10;
  for (const int64_t launch : {1, 2, 3, 4, 5, 7, 10}) {
    seen.clear();
    for (int64_t done = 0; done < kLoop; done += launch) {
      const int64_t steps = std::min(launch, kLoop - done);
      Tensor all(DType::f32, {steps, 1});
      for (int64_t i = 0; i < steps; ++i) {
        all.data<float>()[i] = static_cast<float>(done + i);
      }
      run_host_calls(host_call, {&all, 1},
                     {.first = 100 + done, .steps = steps, .in_loop = done, .every = 4},
                     heartbeat_);
    }
    EXPECT_THAT(seen, ElementsAre(0, 4, 8)) << "launches of " << launch;
  }
}

TEST_F(HostCallsTest, rows_that_fill_up_a_batch_are_left_out) {
  std::vector<Tensor> seen;
  const HostCall host_call{
      .fn = [&](std::span<const Tensor> values) { seen.assign(values.begin(), values.end()); },
      .tensors = {placeholder(DType::f32, {2, 1}), placeholder(DType::f32, {3})}};
  const Output mask = placeholder(DType::f32, {2});
  EXPECT_EQ(host_call_fetches(host_call, mask).size(), 3U);
  // A step of two replicas: the second has one example.
  const std::vector<Tensor> fetched = {
      Tensor::of<float>({1, 2, 2, 1}, {1, 2, 3, 3}),
      Tensor::of<float>({1, 2, 3}, {1, 2, 3, 4, 5, 6}),
      Tensor::of<float>({1, 2, 2}, {1, 1, 1, 0}),
  };
  run_host_calls(host_call, fetched, {}, heartbeat_);
  EXPECT_TRUE(seen[0].identical(Tensor::of<float>({3, 1}, {1, 2, 3})));
  EXPECT_TRUE(seen[1].identical(Tensor::of<float>({6}, {1, 2, 3, 4, 5, 6})));
}

}  // namespace
}  // namespace systole::estimator
