// Stacks of batches, read while the one before is used.
#include "systole/estimator/feed.h"

#include <gmock/gmock.h>

#include "systole/base/testing/error_of.h"

namespace systole::estimator {
namespace {

using systole::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Numbers from 0 on, in batches.
Input input_of(Layout layout, int64_t numbers, int64_t batch, int64_t replicas) {
  const auto dataset = [&](int64_t first) {
    return Dataset::range(first, first + numbers).batch(batch);
  };
  return {.datasets = {dataset(0)},
          .layout = layout,
          .replicas = replicas,
          .features = TensorType{DType::s64, {batch}},
          .labels = {},
          .replica_batch = layout == Layout::split ? batch / replicas : batch};
}

// The numbers of all steps of a stack: a step behind the other, in it a replica behind the other.
std::vector<int64_t> numbers_of(const std::optional<LoopInput>& input) {
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

TEST(Feed, stacks_what_each_layout_gives) {
  const Input split = input_of(Layout::split, 10, 4, 2);
  Feed of_split(split, {.max_steps = 3, .fixed = false});
  EXPECT_EQ(of_split.step_bytes(), 4 * 8);
  const auto first = of_split.next(3);
  EXPECT_THAT(numbers_of(first), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(first->examples, 8);
  EXPECT_THAT(first->in_replica, ElementsAre(2, 2));
  // An incomplete batch is another type, and another stack.
  EXPECT_THAT(numbers_of(of_split.next(3)), ElementsAre(8, 9));
  EXPECT_EQ(of_split.next(3), std::nullopt);

  const Input each = input_of(Layout::per_replica, 12, 2, 2);
  Feed of_each(each, {.max_steps = 2});
  EXPECT_THAT(numbers_of(of_each.next(2, 2)), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(numbers_of(of_each.next(2, 2)), ElementsAre(8, 9, 10, 11));

  const Input shared = input_of(Layout::broadcast, 2, 2, 3);
  Feed of_shared(shared, {.max_steps = 1});
  const auto everywhere = of_shared.next(1, 1);
  EXPECT_THAT(numbers_of(everywhere), ElementsAre(0, 1, 0, 1, 0, 1));
  EXPECT_EQ(everywhere->examples, 2);
}

TEST(Feed, fills_up_the_last_batch) {
  const Input input = input_of(Layout::split, 7, 4, 2);
  Feed feed(input, {.max_steps = 2, .pad = true, .fixed = false});
  const auto all = feed.next(2, 2);
  EXPECT_THAT(numbers_of(all), ElementsAre(0, 1, 2, 3, 4, 5, 6, 6));
  EXPECT_EQ(all->examples, 7);
  EXPECT_THAT(all->in_replica, ElementsAre(2, 1));
  const auto mask = all->stacks[1].data<float>();
  EXPECT_THAT(std::vector<float>(mask.begin(), mask.end()),
              ElementsAre(1, 1, 1, 1, 1, 1, 1, 0));  // replica 0's two steps, replica 1's
}

// A loop may be shorter than what was read ahead for it.
TEST(Feed, keeps_what_was_read_too_much) {
  const Input input = input_of(Layout::split, 16, 2, 1);
  Feed feed(input, {.max_steps = 4});
  EXPECT_THAT(numbers_of(feed.next(1, 4)), ElementsAre(0, 1));
  EXPECT_THAT(numbers_of(feed.next(1, 4)), ElementsAre(2, 3));
  EXPECT_THAT(numbers_of(feed.next(2, 4)), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(numbers_of(feed.next(4, 4)), ElementsAre(8, 9));
  EXPECT_THAT(numbers_of(feed.next(4, 4)), ElementsAre(10, 11, 12, 13, 14, 15));
  EXPECT_THAT(numbers_of(feed.next(4, 4)), IsEmpty());
}

TEST(Feed, goes_on_after_what_was_given) {
  for (const Layout layout : {Layout::split, Layout::per_replica, Layout::broadcast}) {
    for (const int64_t ahead : {0, 1, 3}) {
      for (int64_t before = 0; before < 4; ++before) {
        const Input input = input_of(layout, 24, 4, 2);
        Feed whole(input, {.max_steps = 3});
        for (int64_t i = 0; i < before; ++i) whole.next(1, ahead);
        Feed resumed(input, {.max_steps = 3});
        resumed.restore_state(whole.save_state());
        for (int i = 0; i < 6; ++i) {
          const auto expected = whole.next(1, ahead);
          EXPECT_EQ(numbers_of(resumed.next(1, 1)), numbers_of(expected)) << ahead << " " << before;
        }
      }
    }
  }
}

TEST(Feed, gives_what_came_before_an_error) {
  Input input = input_of(Layout::split, 8, 2, 1);
  input.datasets = {Dataset::range(8)
                        .map_cpp(
                            [](const Element& element) {
                              if (element.leaf().item<int64_t>() == 5) {
                                throw invalid_argument("record 5 is bad");
                              }
                              return element;
                            },
                            TensorType{DType::s64, {}})
                        .batch(2)};
  Feed feed(input, {.max_steps = 4});
  EXPECT_THAT(numbers_of(feed.next(1, 4)), ElementsAre(0, 1));
  EXPECT_THAT(numbers_of(feed.next(4, 4)), ElementsAre(2, 3));
  EXPECT_THAT(error_of([&] { feed.next(4, 4); }), HasSubstr("record 5 is bad"));
}

TEST(Feed, refuses_batches_of_several_sizes) {
  const Input input = input_of(Layout::split, 7, 2, 1);
  Feed feed(input, {.max_steps = 4});
  EXPECT_THAT(numbers_of(feed.next(4)), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(error_of([&] { feed.next(4); }),
              HasSubstr("expected batches of one size; batch(batch_size, drop_remainder = true)"));
}

TEST(Feed, reports_how_long_it_was_waited_for) {
  const Input input = input_of(Layout::split, 1 << 12, 2, 1);
  Feed feed(input, {.max_steps = 8});
  for (int i = 0; i < 10; ++i) feed.next(8, 8);
  const FeedReport report = feed.report();
  EXPECT_EQ(report.loops, 10);
  EXPECT_EQ(report.steps, 80);
  EXPECT_LE(report.waited_seconds, report.seconds);
  ASSERT_NE(report.slowest(), nullptr);
}

// Nobody waits for a reader that nobody needs any more.
TEST(Feed, ends_while_it_reads) {
  const Input input = input_of(Layout::split, int64_t{1} << 40, 2, 1);
  Feed feed(input, {.max_steps = 1 << 20});
  feed.next(1, 1 << 20);
}

}  // namespace
}  // namespace systole::estimator
