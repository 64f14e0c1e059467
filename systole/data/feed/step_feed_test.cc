// Stacks of batches, read while the one before is used.
#include "systole/data/feed/step_feed.h"

#include <fmt/core.h>
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <set>
#include <thread>

#include "systole/base/log.h"
#include "systole/base/testing/error_of.h"
#include "systole/data/nodes.h"
#include "systole/data/testing/elements.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/tracing/recorder.h"

namespace systole::data {
namespace {

using systole::testing::error_of;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Numbers from 0 on, in batches.
StepSource source_of(StepLayout layout, int64_t numbers, int64_t batch, int64_t replicas) {
  const auto dataset = [&](int64_t first) {
    return Dataset::range(first, first + numbers).batch(batch);
  };
  return {.datasets = {dataset(0)},
          .layout = layout,
          .replicas = replicas,
          .replica_batch = layout == StepLayout::split ? batch / replicas : batch,
          .name = "input_fn"};
}

// The numbers of all steps of a stack: one step after the other, and in a step one replica after
// the other.
std::vector<int64_t> numbers_of(const std::optional<StackedSteps>& input) {
  std::vector<int64_t> all;
  if (!input) return all;
  const Tensor& stack = input->stacks[0];
  for (int64_t step = 0; step < input->steps; ++step) {
    for (int64_t replica = 0; replica < stack.dim(0); ++replica) {
      for (int64_t i = 0; i < stack.dim(2); ++i) {
        const int64_t at = (replica * stack.dim(1) + step) * stack.dim(2) + i;
        all.push_back(stack.data<int64_t>()[at]);
      }
    }
  }
  return all;
}

TEST(StepFeed, a_recording_has_its_waits_and_stages) {
  ASSERT_TRUE(tracing::start());
  {
    const StepSource source = source_of(StepLayout::split, 16, 4, 2);
    StepFeed feed(source, {.max_steps = 2});
    while (feed.next(2)) {
    }
  }
  const tracing::Recording recording = tracing::stop();
  ASSERT_EQ(recording.inputs.size(), 1U);
  EXPECT_EQ(recording.inputs[0][0].name, "batch");
  EXPECT_EQ(recording.inputs[0][0].elements, 4);
  EXPECT_NE(recording.inputs[0][0].remedy, "");
  std::set<std::string> kinds;
  std::set<std::string> threads;
  for (const tracing::ThreadEvents& thread : recording.threads) {
    threads.insert(thread.name);
    for (const tracing::Event& event : thread.events) kinds.emplace(to_string(event.kind));
  }
  EXPECT_THAT(kinds, ElementsAre("input", "input wait"));
  EXPECT_THAT(threads, Contains("input"));
}

TEST(StepFeed, stacks_what_each_layout_gives) {
  const StepSource split = source_of(StepLayout::split, 10, 4, 2);
  StepFeed of_split(split, {.max_steps = 3, .fixed = false});
  EXPECT_EQ(of_split.step_bytes(), 4 * 8);
  const auto first = of_split.next(3);
  EXPECT_THAT(numbers_of(first), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(first->examples, 8);
  EXPECT_THAT(first->in_replica, ElementsAre(2, 2));
  // An incomplete batch is another type, and another stack.
  EXPECT_THAT(numbers_of(of_split.next(3)), ElementsAre(8, 9));
  EXPECT_EQ(of_split.next(3), std::nullopt);

  const StepSource each = source_of(StepLayout::per_replica, 12, 2, 2);
  StepFeed of_each(each, {.max_steps = 2});
  EXPECT_THAT(numbers_of(of_each.next(2, 2)), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(numbers_of(of_each.next(2, 2)), ElementsAre(8, 9, 10, 11));

  const StepSource shared = source_of(StepLayout::broadcast, 2, 2, 3);
  StepFeed of_shared(shared, {.max_steps = 1});
  const auto everywhere = of_shared.next(1, 1);
  EXPECT_THAT(numbers_of(everywhere), ElementsAre(0, 1, 0, 1, 0, 1));
  EXPECT_EQ(everywhere->examples, 2);
}

TEST(StepFeed, fills_up_the_last_batch) {
  StepSource input = source_of(StepLayout::split, 7, 4, 2);
  input.pad = true;
  StepFeed feed(input, {.max_steps = 2, .fixed = false});
  const auto all = feed.next(2, 2);
  EXPECT_THAT(numbers_of(all), ElementsAre(0, 1, 2, 3, 4, 5, 6, 6));
  EXPECT_EQ(all->examples, 7);
  EXPECT_THAT(all->in_replica, ElementsAre(2, 1));
  const auto mask = all->stacks[1].data<float>();
  EXPECT_THAT(std::vector<float>(mask.begin(), mask.end()),
              ElementsAre(1, 1, 1, 1, 1, 1, 1, 0));  // replica 0's two steps, replica 1's
}

// Two numbers of each example in one vector, beside a label of each.
TEST(StepFeed, fills_up_flat_examples) {
  const auto flat = [](Output x) {
    return reshape(stack({x * 10, x * 10 + 1}, {.axis = 1}), {-1});
  };
  StepSource input = source_of(StepLayout::per_replica, 0, 1, 2);
  const Dataset labels = Dataset::range(5).batch(2);
  input.datasets = {Dataset::zip(Nest<Dataset>::tuple({labels.map(flat), labels}))};
  input.replica_batch = 2;
  input.rows = {2, 1};
  input.pad = true;
  StepFeed feed(input, {.max_steps = 2, .fixed = false});
  const auto all = feed.next(2, 2);
  EXPECT_EQ(all->examples, 5);
  EXPECT_THAT(numbers_of(all),
              ElementsAre(0, 1, 10, 11, 20, 21, 30, 31, 40, 41, 40, 41, 40, 41, 40, 41));
  const auto mask = all->stacks[2].data<float>();
  EXPECT_THAT(std::vector<float>(mask.begin(), mask.end()), ElementsAre(1, 1, 1, 0, 1, 1, 0, 0));
}

// A loop may be shorter than what was read ahead for it.
TEST(StepFeed, keeps_what_was_read_too_much) {
  const StepSource input = source_of(StepLayout::split, 16, 2, 1);
  StepFeed feed(input, {.max_steps = 4});
  EXPECT_THAT(numbers_of(feed.next(1, 4)), ElementsAre(0, 1));
  EXPECT_THAT(numbers_of(feed.next(1, 4)), ElementsAre(2, 3));
  EXPECT_THAT(numbers_of(feed.next(2, 4)), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(numbers_of(feed.next(4, 4)), ElementsAre(8, 9));
  EXPECT_THAT(numbers_of(feed.next(4, 4)), ElementsAre(10, 11, 12, 13, 14, 15));
  EXPECT_THAT(numbers_of(feed.next(4, 4)), IsEmpty());
}

TEST(StepFeed, goes_on_after_what_was_given) {
  for (const StepLayout layout :
       {StepLayout::split, StepLayout::per_replica, StepLayout::broadcast}) {
    for (const int64_t ahead : {0, 1, 3}) {
      for (int64_t before = 0; before < 4; ++before) {
        const StepSource input = source_of(layout, 24, 4, 2);
        StepFeed whole(input, {.max_steps = 3});
        for (int64_t i = 0; i < before; ++i) whole.next(1, ahead);
        StepFeed resumed(input, {.max_steps = 3});
        resumed.restore_state(whole.save_state());
        for (int i = 0; i < 6; ++i) {
          const auto expected = whole.next(1, ahead);
          EXPECT_EQ(numbers_of(resumed.next(1, 1)), numbers_of(expected)) << ahead << " " << before;
        }
      }
    }
  }
}

// Batches of two, of which the third fails.
StepSource failing_source() {
  StepSource input = source_of(StepLayout::split, 10, 2, 1);
  input.datasets = {Dataset::range(10)
                        .map_cpp(
                            [](const Element& element) {
                              if (element.leaf().item<int64_t>() == 5) {
                                throw invalid_argument("record 5 is bad");
                              }
                              return element;
                            },
                            TensorType{DType::s64, {}})
                        .batch(2, true)};
  return input;
}

TEST(StepFeed, gives_what_came_before_an_error) {
  StepFeed feed(failing_source(), {.max_steps = 4});
  EXPECT_THAT(numbers_of(feed.next(1, 4)), ElementsAre(0, 1));
  EXPECT_THAT(numbers_of(feed.next(4, 4)), ElementsAre(2, 3));
  EXPECT_THAT(error_of([&] { feed.next(4, 4); }), HasSubstr("record 5 is bad"));
}

// An error that was read ahead is not lost with the process.
TEST(StepFeed, saves_an_error_in_its_place) {
  const StackOptions options{.max_steps = 4};
  StepFeed whole(failing_source(), options);
  whole.next(1, 4);
  StepFeed resumed(failing_source(), options);
  resumed.restore_state(whole.save_state());
  StepFeed again(failing_source(), options);
  again.restore_state(resumed.save_state());
  EXPECT_THAT(numbers_of(again.next(4, 4)), ElementsAre(2, 3));
  EXPECT_THAT(error_of([&] { again.next(4, 4); }), HasSubstr("record 5 is bad"));
  const std::vector<int64_t> rest = numbers_of(again.next(4, 4));
  EXPECT_THAT(std::vector<int64_t>(rest.end() - 4, rest.end()), ElementsAre(6, 7, 8, 9));
}

TEST(StepFeed, returns_after_one_step_once_it_is_told_to_stop) {
  std::atomic<bool> stopped = false;
  const StepSource source = source_of(StepLayout::split, 40, 2, 1);
  StepFeed feed(source, {.max_steps = 8, .stop = [&] { return stopped.load(); }});
  EXPECT_THAT(numbers_of(feed.next(2)), ElementsAre(0, 1, 2, 3));
  stopped = true;
  EXPECT_THAT(numbers_of(feed.next(8, 8)), ElementsAre(4, 5));
  StepFeed resumed(source, {.max_steps = 8});
  resumed.restore_state(feed.save_state());
  EXPECT_THAT(numbers_of(resumed.next(2)), ElementsAre(6, 7, 8, 9));
}

// Else nobody could continue from that state.
TEST(StepFeed, leaves_out_an_error_that_was_read_ahead) {
  StepFeed whole(failing_source(), {.max_steps = 4});
  whole.next(1, 4);
  const std::string state = whole.save_state();
  StepFeed resumed(failing_source(), {.max_steps = 4, .iterator = {.keeps_errors = false}});
  const LogCapture log;
  resumed.restore_state(state);
  EXPECT_THAT(log.messages(),
              Contains(HasSubstr("input_fn: the element that failed before the checkpoint is left "
                                 "out: record 5 is bad")));
  EXPECT_THAT(numbers_of(resumed.next(1)), ElementsAre(2, 3));
  EXPECT_THAT(numbers_of(resumed.next(4)), ElementsAre(6, 7, 8, 9));
  EXPECT_EQ(resumed.next(4), std::nullopt);
}

TEST(StepFeed, refuses_a_position_of_another_number_of_replicas) {
  for (const int64_t replicas : {1, 4}) {
    StepFeed two(source_of(StepLayout::per_replica, 32, 2, 2), {.max_steps = 2});
    two.next(2, 2);
    StepFeed other(source_of(StepLayout::per_replica, 32, 2, replicas), {.max_steps = 2});
    EXPECT_THAT(error_of([&] { other.restore_state(two.save_state()); }),
                HasSubstr(fmt::format("FAILED_PRECONDITION: input_fn: saved position, got steps of "
                                      "2 elements, expected {}",
                                      replicas)));
    // Nothing of it was taken.
    const auto first = other.next(1);
    EXPECT_EQ(first->examples, 2 * replicas);
    EXPECT_EQ(numbers_of(first).front(), 0);
  }
}

TEST(StepFeed, takes_nothing_of_a_position_that_is_refused) {
  StepSource one = source_of(StepLayout::broadcast, 8, 2, 2);
  StepFeed saved(one, {.max_steps = 2});
  saved.next(1, 2);
  StepSource two = source_of(StepLayout::broadcast, 8, 2, 2);
  two.datasets.push_back(two.datasets.front());
  StepFeed other(two, {.max_steps = 2});
  EXPECT_THAT(error_of([&] { other.restore_state(saved.save_state()); }),
              HasSubstr("saved position, got 1 data sets, expected 2"));
  EXPECT_THAT(numbers_of(other.next(1)), ElementsAre(0, 1, 0, 1));
}

// An example that has no place is told, not dropped.
TEST(StepFeed, refuses_a_batch_that_is_larger_than_what_it_is_filled_up_to) {
  StepSource input = source_of(StepLayout::per_replica, 20, 4, 2);
  input.datasets.push_back(Dataset::range(20).batch(5));
  input.pad = true;
  StepFeed feed(input, {.max_steps = 2, .fixed = false});
  EXPECT_THAT(error_of([&] { feed.next(2); }),
              HasSubstr("input_fn: batch, got 5 examples, expected at most 4"));
}

TEST(StepFeed, gives_no_more_steps_than_it_has_room_for) {
  StepFeed feed(source_of(StepLayout::split, 16, 2, 1), {.max_steps = 2});
  EXPECT_THAT(numbers_of(feed.next(5, 5)), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(numbers_of(feed.next(5)), ElementsAre(4, 5, 6, 7));
}

// What is made in its place and what is copied there are the same.
TEST(StepFeed, makes_batches_in_their_places_or_copies_them) {
  const auto half = [](Output x) { return cast(x, DType::f32) * 0.5; };
  const Dataset in_place = Dataset::range(128).map(half).batch(16, true);
  const Dataset copied = in_place.prefetch(1);
  for (const StepLayout layout : {StepLayout::split, StepLayout::per_replica}) {
    for (const int64_t replicas : {1, 2}) {
      for (const int64_t steps : {1, 3}) {
        const auto feed_of = [&](const Dataset& dataset) {
          return std::make_unique<StepFeed>(
              StepSource{.datasets = {dataset}, .layout = layout, .replicas = replicas, .name = ""},
              StackOptions{.max_steps = steps});
        };
        const auto one = feed_of(in_place);
        const auto other = feed_of(copied);
        for (auto batch = one->next(steps, steps); batch; batch = one->next(steps, steps)) {
          const auto same = other->next(steps, steps);
          ASSERT_EQ(same->steps, batch->steps);
          for (int64_t replica = 0; replica < replicas; ++replica) {
            const auto part = [&](const Tensor& stack) {
              return stack.slice(replica, replica + 1)
                  .reshape({steps, stack.dim(2)})
                  .slice(0, batch->steps);
            };
            EXPECT_TRUE(part(batch->stacks[0]).identical(part(same->stacks[0])))
                << replicas << " " << steps;
          }
        }
        EXPECT_EQ(other->next(steps), std::nullopt);
      }
    }
  }
}

// The batches of a feed for one replica, one element a step.
std::vector<std::string> unstacked(const Dataset& dataset, int64_t steps) {
  StepFeed feed({.datasets = {dataset}, .name = "input"}, {.max_steps = steps});
  std::vector<std::string> result;
  while (const auto stacked = feed.next(steps, steps)) {
    for (int64_t k = 0; k < stacked->steps; ++k) {
      Components row;
      for (size_t c = 0; c < stacked->stacks.size(); ++c) {
        const Dims& dims = stacked->stacks[c].shape().dims();
        const Tensor stack = stacked->stacks[c].reshape(Shape(Dims(dims.begin() + 1, dims.end())));
        row.push_back(stack.slice(k, k + 1).reshape(stacked->types[c].shape));
      }
      result.push_back(to_text(to_element(dataset.element_spec(), std::move(row))));
    }
  }
  return result;
}

// Pipelines that end with a stage that can write into the stacks, and others.
TEST(StepFeed, gives_the_batches_of_the_data_set) {
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

TEST(StepFeed, reuses_two_aligned_stacks) {
  StepFeed feed(source_of(StepLayout::split, 40, 2, 1), {.max_steps = 2});
  std::set<const void*> seen;
  for (int64_t i = 0; i < 6; ++i) {
    const auto stacked = feed.next(2, 2);
    seen.insert(stacked->stacks[0].raw());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(stacked->stacks[0].raw()) % 64, 0U);
    EXPECT_EQ(stacked->stacks[0].data<int64_t>()[0], i * 4);
  }
  EXPECT_EQ(seen.size(), 2U);
}

TEST(StepFeed, refuses_what_no_device_takes) {
  const auto error = [](const Dataset& dataset, int64_t replicas) {
    return error_of(
        [&] { StepFeed feed({.datasets = {dataset}, .replicas = replicas, .name = "input"}, {}); });
  };
  EXPECT_EQ(error(Dataset::range(6).batch(3, true), 2),
            "INVALID_ARGUMENT: input: first dimension of component 0, got s64[3], expected a "
            "multiple of 2 replicas");
  EXPECT_EQ(error(Dataset::from_tensors(Tensor("a")), 1),
            "INVALID_ARGUMENT: input: component 0, got string[], expected numbers: no device "
            "holds texts");
}

Dataset sleeping(const Dataset& input, int ms, int64_t calls) {
  return input.map_cpp(
      [ms](const Element& x) {
        std::this_thread::sleep_for(std::chrono::milliseconds(ms));
        return x;
      },
      TensorType{DType::s64, {}}, {.num_parallel_calls = calls});
}

FeedReport report_of(const Dataset& dataset) {
  StepFeed feed({.datasets = {dataset}, .name = "input"}, {.max_steps = 2});
  while (feed.next(2, 2)) {
  }
  return feed.report();
}

TEST(StepFeed, reports_the_slowest_stage) {
  const FeedReport report = report_of(sleeping(Dataset::range(20), 2, 0).batch(2, true));
  EXPECT_EQ(report.steps, 10);
  EXPECT_GT(report.waited_seconds, 0.01);
  ASSERT_NE(report.slowest(), nullptr);
  EXPECT_EQ(report.slowest()->name, "map_cpp");
  EXPECT_THAT(report.advice(), HasSubstr("num_parallel_calls"));
  EXPECT_THAT(report.to_string(), HasSubstr("range"));
}

// Two threads that share more work than one has are faster.
TEST(StepFeed, reports_the_work_of_each_thread) {
  const FeedReport report =
      report_of(sleeping(sleeping(Dataset::range(20), 4, 1), 6, 2).batch(2, true));
  ASSERT_EQ(report.stages.size(), 4U);
  EXPECT_EQ(report.stages[1].threads, 2);
  EXPECT_EQ(report.stages[2].threads, 1);
  EXPECT_GT(report.stages[1].busy_seconds, report.stages[2].busy_seconds);
  EXPECT_EQ(report.slowest(), &report.stages[2]);
}

TEST(StepFeed, refuses_batches_of_several_sizes) {
  const StepSource input = source_of(StepLayout::split, 7, 2, 1);
  StepFeed feed(input, {.max_steps = 4});
  EXPECT_THAT(numbers_of(feed.next(4)), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(error_of([&] { feed.next(4); }),
              HasSubstr("expected batches of one size; batch(batch_size, drop_remainder = true)"));
}

TEST(StepFeed, reports_how_long_it_was_waited_for) {
  const StepSource input = source_of(StepLayout::split, 1 << 12, 2, 1);
  StepFeed feed(input, {.max_steps = 8});
  for (int i = 0; i < 10; ++i) feed.next(8, 8);
  const FeedReport report = feed.report();
  EXPECT_EQ(report.loops, 10);
  EXPECT_EQ(report.steps, 80);
  EXPECT_LE(report.waited_seconds, report.seconds);
  ASSERT_NE(report.slowest(), nullptr);
}

// Nobody waits for a reader that nobody needs any more.
TEST(StepFeed, ends_while_it_reads) {
  const StepSource input = source_of(StepLayout::split, int64_t{1} << 40, 2, 1);
  StepFeed feed(input, {.max_steps = 1 << 20});
  feed.next(1, 1 << 20);
}

// Batches of one size stay of that size where a position is restored.
TEST(StepFeed, keeps_its_size) {
  const StepSource source = source_of(StepLayout::per_replica, 7, 2, 1);
  const StackOptions options{.max_steps = 1, .fixed = true};
  StepFeed feed(source, options);
  for (int i = 0; i < 3; ++i) feed.next(1);
  StepFeed restored(source, options);
  restored.restore_state(feed.save_state());
  for (StepFeed* each : {&feed, &restored}) {
    EXPECT_THAT(error_of([&] { each->next(1); }), HasSubstr("expected batches of one size"));
  }
}

}  // namespace
}  // namespace systole::data
