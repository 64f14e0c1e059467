#include "systole/runtime/ordered_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "systole/base/testing/error_of.h"

namespace systole::runtime {
namespace {

using systole::testing::error_of;
using ::testing::ElementsAre;

TEST(OrderedWork, RunsInOrder) {
  std::vector<int> order;
  int keys[3];
  OrderedWork work;
  for (int i = 0; i < 3; ++i) work.add(&keys[i], [&, i] { order.push_back(i); });
  work.finish(&keys[2]);
  EXPECT_THAT(order, ElementsAre(0, 1, 2));
  work.finish(&keys[0]);
  work.finish(&keys[0]);  // none is left
}

TEST(OrderedWork, GivesErrorsToThoseWhoWait) {
  int keys[2];
  bool ran = false;
  OrderedWork work;
  work.add(&keys[0], [] { throw invalid_argument("first"); });
  work.add(&keys[1], [&] { ran = true; });
  work.wait_for_all();
  EXPECT_TRUE(ran);
  EXPECT_EQ(error_of([&] { work.finish(&keys[1]); }), "no error");
  EXPECT_EQ(error_of([&] { work.finish(&keys[0]); }), "INVALID_ARGUMENT: first");
  work.add(&keys[0], [] { throw invalid_argument("second"); });
  work.drop_all();
  EXPECT_EQ(error_of([&] { work.finish(&keys[0]); }), "no error");
}

TEST(OrderedWork, RoundsAsItsCallerDoes) {
  const int before = std::fegetround();
  int rounding = before;
  OrderedWork work;
  std::fesetround(FE_UPWARD);
  work.add(&rounding, [&] { rounding = std::fegetround(); });
  std::fesetround(before);
  work.finish(&rounding);
  EXPECT_EQ(rounding, FE_UPWARD);
}

}  // namespace
}  // namespace systole::runtime
