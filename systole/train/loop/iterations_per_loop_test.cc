#include "systole/train/loop/iterations_per_loop.h"

#include <gmock/gmock.h>

#include "systole/base/testing/error_of.h"

namespace systole {
namespace {

using systole::testing::error_of;
using ::testing::HasSubstr;

TEST(IterationsPerLoop, are_a_number_or_a_time) {
  EXPECT_EQ(IterationsPerLoop("100").count(), 100);
  EXPECT_EQ(IterationsPerLoop("30s").seconds(), 30);
  EXPECT_EQ(IterationsPerLoop("2m").seconds(), 120);
  EXPECT_EQ(IterationsPerLoop("1h").seconds(), 3600);
  EXPECT_TRUE(IterationsPerLoop("1h").is_time());
  for (const char* text : {"", "0", "-1", "5|", "1.5", "s", "10d", "07", " 5"}) {
    EXPECT_THAT(error_of([&] { IterationsPerLoop{std::string_view(text)}; }),
                HasSubstr("INVALID_ARGUMENT: Invalid `iterations_per_loop` value."))
        << text;
  }
  EXPECT_THAT(error_of([] { IterationsPerLoop(0); }), HasSubstr("got '0'"));
}

TEST(IterationCountEstimator, finds_the_count_for_a_time) {
  IterationCountEstimator estimator(10);
  EXPECT_EQ(estimator.next(), 1);
  estimator.loop_done(1, 0.5);
  EXPECT_EQ(estimator.next(), 20);
  for (int i = 0; i < 30; ++i) estimator.loop_done(20, 10);
  EXPECT_EQ(estimator.next(), 20);
  estimator.loop_done(20, 40);  // frozen by now
  EXPECT_EQ(estimator.next(), 20);
}

TEST(IterationCountEstimatorTest, TakesNoTimeBelowASecond) {
  for (const int64_t seconds : {0, -1}) {
    EXPECT_EQ(error_of([&] { IterationCountEstimator{seconds}; }),
              fmt::format("INVALID_ARGUMENT: Invalid `total_secs`. It must be positive number. "
                          "Actual:{}",
                          seconds));
  }
}

}  // namespace
}  // namespace systole
