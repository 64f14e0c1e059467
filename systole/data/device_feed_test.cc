#include "systole/data/device_feed.h"

#include <gtest/gtest.h>

#include "systole/base/testing/error_of.h"
#include "systole/data/testing/elements.h"

namespace systole::data {
namespace {

using systole::testing::error_of;

// The steps that are filled, replica by replica.
std::string text_of(const DeviceFeed::Batch& batch) {
  std::string text = std::to_string(batch.steps_filled) + ":";
  for (const Tensor& component : batch.components) {
    const Dims& dims = component.shape().dims();
    for (int64_t r = 0; r < component.dim(0); ++r) {
      const Tensor steps =
          component.slice(r, r + 1).reshape(Shape(Dims(dims.begin() + 1, dims.end())));
      text += " " + to_text(Element(steps.slice(0, batch.steps_filled)));
    }
  }
  return text;
}

std::vector<std::string> stacks(DeviceFeed& feed) {
  std::vector<std::string> result;
  for (;;) {
    const DeviceFeed::Batch batch = feed.next();
    if (batch.steps_filled == 0) return result;
    result.push_back(text_of(batch));
  }
}

Dataset range_in_batches(int64_t n, int64_t batch) { return Dataset::range(n).batch(batch, true); }

TEST(DeviceFeedTest, SplitsBatchesOverReplicas) {
  DeviceFeed feed(range_in_batches(16, 4), {.steps = 2, .replicas = 2});
  EXPECT_EQ(stacks(feed), (std::vector<std::string>{"2: [[0 1] [4 5]] [[2 3] [6 7]]",
                                                    "2: [[8 9] [12 13]] [[10 11] [14 15]]"}));
  EXPECT_EQ(feed.step_types()[0].to_string(), "s64[2]");
  EXPECT_EQ(feed.next().steps_filled, 0);
}

TEST(DeviceFeedTest, OneBatchAReplica) {
  DeviceFeed feed(range_in_batches(10, 2), {.steps = 2, .replicas = 2, .per_replica = true});
  const DeviceFeed::Batch batch = feed.next();
  EXPECT_EQ(text_of(batch), "2: [[0 1] [4 5]] [[2 3] [6 7]]");
  EXPECT_EQ(feed.next().steps_filled, 0);  // one batch is left for two replicas
}

TEST(DeviceFeedTest, AShortLastStack) {
  DeviceFeed feed(range_in_batches(5, 1), {.steps = 3});
  EXPECT_EQ(feed.next().steps_filled, 3);
  EXPECT_EQ(feed.next().steps_filled, 2);
  EXPECT_EQ(feed.next().steps_filled, 0);
  DeviceFeed limited(range_in_batches(5, 1).repeat(), {.steps = 3, .max_steps = 4});
  EXPECT_EQ(limited.next().steps_filled, 3);
  EXPECT_EQ(limited.next().steps_filled, 1);
  EXPECT_EQ(limited.next().steps_filled, 0);
}

TEST(DeviceFeedTest, BuffersAreAlignedAndUsedAgain) {
  DeviceFeed feed(range_in_batches(40, 2), {.steps = 2, .replicas = 1});
  std::set<const void*> seen;
  for (int i = 0; i < 6; ++i) {
    const DeviceFeed::Batch batch = feed.next();
    seen.insert(batch.components[0].raw());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(batch.components[0].raw()) % 64, 0U);
    EXPECT_EQ(batch.components[0].data<int64_t>()[0], i * 4);
  }
  EXPECT_EQ(seen.size(), 2U);
}

TEST(DeviceFeedTest, RestoresAtEveryStack) {
  const Dataset dataset =
      Dataset::range(11).shuffle(5, {.seed = 3}).repeat(2).batch(2, true).prefetch(2);
  const DeviceFeedOptions options{.steps = 2, .replicas = 2};
  DeviceFeed whole(dataset, options);
  const std::vector<std::string> all = stacks(whole);
  for (size_t position = 0; position <= all.size(); ++position) {
    DeviceFeed saved(dataset, options);
    std::vector<std::string> got;
    for (size_t i = 0; i < position; ++i) got.push_back(text_of(saved.next()));
    DeviceFeed restored(dataset, options);
    restored.restore_state(saved.save_state());
    std::ranges::copy(stacks(restored), std::back_inserter(got));
    EXPECT_EQ(got, all) << "at " << position;
  }
}

TEST(DeviceFeedTest, ErrorsComeInTheirPlace) {
  const Dataset dataset = Dataset::range(6)
                              .map_cpp(
                                  [](const Element& x) -> Element {
                                    if (x.leaf().item<int64_t>() == 2)
                                      throw std::runtime_error("two");
                                    return x;
                                  },
                                  TensorType{DType::s64, {}})
                              .batch(1, true);
  DeviceFeed feed(dataset, {.steps = 5});
  EXPECT_EQ(error_of([&] { feed.next(); }), "UNKNOWN: two, map_cpp: element 2");
  EXPECT_EQ(text_of(feed.next()), "5: [[0] [1] [3] [4] [5]]");
}

TEST(DeviceFeedTest, BadInput) {
  const auto error = [](const Dataset& dataset, DeviceFeedOptions options) {
    return error_of([&] { DeviceFeed feed(dataset, options); });
  };
  EXPECT_EQ(error(Dataset::range(4).batch(2), {}),
            "INVALID_ARGUMENT: DeviceFeed: component 0 of s64[?], got s64[?] with dimension 0 "
            "unknown, expected static shapes; use batch(n, drop_remainder = true), or set_shape "
            "where every batch is full");
  EXPECT_EQ(error(range_in_batches(6, 3), {.replicas = 2}),
            "INVALID_ARGUMENT: DeviceFeed: first dimension of component 0, got s64[3], expected a "
            "multiple of 2 replicas");
  EXPECT_EQ(error(Dataset::from_tensors(Tensor("a")), {}),
            "INVALID_ARGUMENT: DeviceFeed: component 0, got string[], expected numbers: no device "
            "holds texts");
}

TEST(DeviceFeedTest, ReportsWhoIsSlow) {
  const Dataset dataset = Dataset::range(20)
                              .map_cpp(
                                  [](const Element& x) {
                                    std::this_thread::sleep_for(std::chrono::milliseconds(2));
                                    return x;
                                  },
                                  TensorType{DType::s64, {}})
                              .batch(2, true);
  DeviceFeed feed(dataset, {.steps = 2});
  while (feed.next().steps_filled > 0) {
  }
  const FeedReport report = feed.report();
  EXPECT_EQ(report.steps, 10);
  EXPECT_GT(report.waited_seconds, 0.01);
  ASSERT_NE(report.slowest(), nullptr);
  EXPECT_EQ(report.slowest()->name, "map_cpp");
  EXPECT_NE(report.advice().find("num_parallel_calls"), std::string::npos) << report.advice();
  EXPECT_NE(report.to_string().find("range"), std::string::npos);
}

TEST(DeviceFeedTest, ClosesInMidFlight) {
  const auto begin = std::chrono::steady_clock::now();
  {
    DeviceFeed feed(Dataset::range(1000000000).prefetch(4).batch(64, true).prefetch(2),
                    {.steps = 100000});
    EXPECT_EQ(feed.step_types().size(), 1U);
    const Iterator idle(Dataset::range(3));
    std::thread later([&] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); });
    later.join();
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(500));
}

}  // namespace
}  // namespace systole::data
