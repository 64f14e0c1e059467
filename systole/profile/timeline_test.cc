#include "systole/profile/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace systole::profile {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using tracing::Event;
using tracing::Kind;

TEST(Timeline, SelfTimesAddUpToTheTimeCovered) {
  // "step" ends 2 after "loop", and the second "op" ends after "step".
  const std::vector<Event> events = {{.begin = 0, .end = 20, .name = "hook", .kind = Kind::hook},
                                     {.begin = 2, .end = 10, .name = "loop", .kind = Kind::loop},
                                     {.begin = 5, .end = 12, .name = "step", .kind = Kind::step},
                                     {.begin = 6, .end = 8, .name = "op", .kind = Kind::op},
                                     {.begin = 9, .end = 13, .name = "op", .kind = Kind::op}};
  const std::vector<NestedSpan> spans = nest(events);
  std::vector<int64_t> self;
  int64_t sum = 0;
  for (const NestedSpan& span : spans) {
    self.push_back(span.self_ns);
    sum += span.self_ns;
  }
  EXPECT_THAT(self, ElementsAre(12, 3, 2, 2, 1));
  EXPECT_EQ(sum, 20);
  EXPECT_EQ(spans[4].parent, 2);
  EXPECT_THAT(self_intervals(spans, 0), ElementsAre(Pair(0, 2), Pair(10, 20)));
  EXPECT_THAT(self_intervals(spans, 2), ElementsAre(Pair(5, 6), Pair(8, 9)));
}

}  // namespace
}  // namespace systole::profile
