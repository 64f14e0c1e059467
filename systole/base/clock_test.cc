#include "systole/base/clock.h"

#include <gtest/gtest.h>

namespace systole {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(ClockTest, RealTimePasses) {
  Clock& clock = real_clock();
  const auto begin = clock.steady_now();
  clock.sleep(milliseconds(2));
  EXPECT_GE(clock.steady_now() - begin, milliseconds(2));
  EXPECT_GT(clock.now().time_since_epoch(), std::chrono::hours(24 * 365 * 50));
  clock.sleep(seconds(-5));
}

TEST(ClockTest, FakeTimeMovesWhenTold) {
  FakeClock clock;
  EXPECT_EQ(clock.now().time_since_epoch(), seconds(0));
  clock.advance(seconds(3));
  clock.sleep(seconds(1000));
  clock.sleep(seconds(-7));
  EXPECT_EQ(clock.now().time_since_epoch(), seconds(1003));
  EXPECT_EQ(clock.steady_now().time_since_epoch(), seconds(1003));
  EXPECT_EQ(clock.elapsed(), seconds(1003));
}

}  // namespace
}  // namespace systole
