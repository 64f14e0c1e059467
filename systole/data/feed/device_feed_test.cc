#include "systole/data/feed/device_feed.h"

#include <gtest/gtest.h>

#include <numeric>

#include "systole/base/testing/error_of.h"
#include "systole/data/nodes.h"
#include "systole/data/testing/elements.h"
#include "systole/graph/api/math_ops.h"

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
  DeviceFeed all(range_in_batches(5, 1), {.steps = 3});
  EXPECT_EQ(all.next().steps_filled, 3);
  EXPECT_EQ(all.next().steps_filled, 2);
  EXPECT_EQ(all.next().steps_filled, 0);
  DeviceFeed limited(range_in_batches(5, 1).repeat(), {.steps = 3, .max_steps = 4});
  EXPECT_EQ(limited.next().steps_filled, 3);
  DeviceFeed restored(range_in_batches(5, 1).repeat(), {.steps = 3, .max_steps = 4});
  restored.restore_state(limited.save_state());
  for (DeviceFeed* const feed : {&limited, &restored}) {
    EXPECT_EQ(feed->next().steps_filled, 1);
    EXPECT_EQ(feed->next().steps_filled, 0);
  }
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

// The batches that a feed of one replica stacks, as the data set would give them.
std::vector<std::string> unstacked(const Dataset& dataset, int64_t steps) {
  DeviceFeed feed(dataset, {.steps = steps});
  std::vector<std::string> result;
  for (DeviceFeed::Batch batch = feed.next(); batch.steps_filled > 0; batch = feed.next()) {
    for (int64_t k = 0; k < batch.steps_filled; ++k) {
      Components row;
      for (size_t c = 0; c < batch.components.size(); ++c) {
        const Dims& dims = batch.components[c].shape().dims();
        const Tensor stack = batch.components[c].reshape(Shape(Dims(dims.begin() + 1, dims.end())));
        row.push_back(stack.slice(k, k + 1).reshape(feed.step_types()[c].shape));
      }
      result.push_back(to_text(to_element(dataset.element_spec(), std::move(row))));
    }
  }
  return result;
}

// Pipelines that end with a stage that can write into the stacks, and others.
TEST(DeviceFeedTest, BatchesMadeInPlaceAreThoseOfTheDataSet) {
  const Dataset numbers = Dataset::range(96);
  const auto half = [](Output x) { return cast(x, DType::f32) * 0.5; };
  Tensor table(DType::f32, {96, 3});
  std::iota(table.data<float>().begin(), table.data<float>().end(), 0.0F);
  const Dataset rows = Dataset::from_tensor_slices(Element(table));
  const Dataset datasets[] = {
      numbers.batch(16, true),
      numbers.map(half).batch(16, true),
      numbers.map(half).batch(3, true),
      numbers.map(half).shuffle(20, {.seed = 1}).batch(16, true),
      numbers.map(half).batch(16, true).shuffle(4, {.seed = 1}),
      numbers.map(half).batch(16, true).repeat(3),
      numbers.map(half).batch(16, true).take(5),
      numbers.map(half).batch(16, true).cache().repeat(2),
      numbers.batch(16, true).map(half, {.num_parallel_calls = 2}),
      numbers.batch(16, true).prefetch(2),
      Dataset::zip(Nest<Dataset>::tuple({rows, numbers})).batch(16, true),
      rows.shuffle(96, {.seed = 2}).batch(16, true),
      numbers.map(half).batch(16).set_shape(Shape{16}),
  };
  for (const Dataset& dataset : datasets) {
    for (const int64_t steps : {1, 4}) {
      EXPECT_EQ(unstacked(dataset, steps), elements(dataset))
          << dataset.to_string() << ", " << steps;
    }
  }
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

TEST(DeviceFeedTest, APositionThatIsRefusedChangesNothing) {
  const Dataset dataset = range_in_batches(24, 2);
  const DeviceFeedOptions two{.steps = 2, .replicas = 2, .per_replica = true, .max_steps = 4};
  DeviceFeed saved(dataset, two);
  saved.next();
  DeviceFeedOptions four = two;
  four.replicas = 4;
  DeviceFeed other(dataset, four);
  EXPECT_EQ(error_of([&] { other.restore_state(saved.save_state()); }),
            "FAILED_PRECONDITION: DeviceFeed: saved position, got steps of 2 elements, expected 4");
  EXPECT_EQ(other.next().steps_filled, 2);
  EXPECT_EQ(other.next().steps_filled, 1);  // 12 batches are 3 steps of 4
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

// Two threads that share more work than one has are faster.
TEST(DeviceFeedTest, ReportsWorkOfEachThread) {
  const auto sleeping = [](int ms, int64_t calls) {
    return [=](const Dataset& x) {
      return x.map_cpp(
          [=](const Element& y) {
            std::this_thread::sleep_for(std::chrono::milliseconds(ms));
            return y;
          },
          TensorType{DType::s64, {}}, {.num_parallel_calls = calls});
    };
  };
  DeviceFeed feed(Dataset::range(20).apply(sleeping(4, 1)).apply(sleeping(6, 2)).batch(2, true),
                  {});
  while (feed.next().steps_filled > 0) {
  }
  const FeedReport report = feed.report();
  ASSERT_EQ(report.stages.size(), 4U);
  EXPECT_EQ(report.stages[1].threads, 2);
  EXPECT_EQ(report.stages[2].threads, 1);
  EXPECT_GT(report.stages[1].busy_seconds, report.stages[2].busy_seconds);
  EXPECT_EQ(report.slowest(), &report.stages[2]);
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
