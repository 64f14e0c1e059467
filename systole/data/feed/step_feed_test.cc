// Stacks of batches, read while the one before is used.
#include "systole/data/feed/step_feed.h"

#include <fmt/core.h>
#include <gmock/gmock.h>

#include "systole/base/log.h"
#include "systole/base/testing/error_of.h"
#include "systole/graph/api/math_ops.h"

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

// The numbers of all steps of a stack: a step behind the other, in it a replica behind the other.
std::vector<int64_t> numbers_of(const std::optional<StackedSteps>& input) {
  std::vector<int64_t> all;
  if (!input) return all;
  const Tensor& stack = input->stacks[0];
  for (int64_t step = 0; step < input->steps; ++step) {
    for (int64_t replica = 0; replica < stack.dim(0); ++replica) {
      for (int64_t i = 0; i < stack.dim(2); ++i) {
        const int64_t at = (replica * stack.dim(1) + step) * stack.dim(2) + i;
        all.push_back(stack.data<int64_t>()[static_cast<size_t>(at)]);
      }
    }
  }
  return all;
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

TEST(StepFeed, gives_an_error_first_where_stacks_are_to_be_whole) {
  StepFeed feed(failing_source(), {.max_steps = 3, .errors_first = true});
  EXPECT_THAT(error_of([&] { feed.next(3, 3); }), HasSubstr("record 5 is bad"));
  EXPECT_THAT(numbers_of(feed.next(3, 3)), ElementsAre(0, 1, 2, 3, 6, 7));
}

// An error that was read ahead is not lost with the process, where it is not to be.
TEST(StepFeed, saves_an_error_in_its_place) {
  for (const bool errors_first : {false, true}) {
    const StackOptions options{.max_steps = 4, .errors_first = errors_first};
    StepFeed whole(failing_source(), options);
    whole.next(1, 4);
    StepFeed resumed(failing_source(), options);
    resumed.restore_state(whole.save_state());
    StepFeed again(failing_source(), options);
    again.restore_state(resumed.save_state());
    if (!errors_first) {
      EXPECT_THAT(numbers_of(again.next(4, 4)), ElementsAre(2, 3));
    }
    EXPECT_THAT(error_of([&] { again.next(4, 4); }), HasSubstr("record 5 is bad"));
    const std::vector<int64_t> rest = numbers_of(again.next(4, 4));
    EXPECT_THAT(std::vector<int64_t>(rest.end() - 4, rest.end()), ElementsAre(6, 7, 8, 9));
  }
}

// Else nobody could go on from that state.
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
