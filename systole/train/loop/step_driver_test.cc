#include "systole/train/loop/step_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <utility>
#include <vector>

#include "systole/train/loop/signals.h"

namespace systole::train {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

// Steps without tensors, and what was asked for.
class CountedInput : public StepInput {
 public:
  explicit CountedInput(int64_t steps) : left_(steps) {}
  std::optional<data::StackedSteps> next(int64_t steps, int64_t ahead) override {
    asked.emplace_back(steps, ahead);
    const int64_t count = std::min(steps, left_);
    left_ -= count;
    if (count == 0) return std::nullopt;
    return data::StackedSteps{.types = {}, .stacks = {}, .steps = count, .examples = count};
  }
  std::string advice() const override { return "Read faster."; }

  std::vector<std::pair<int64_t, int64_t>> asked;

 private:
  int64_t left_;
};

// Wants `total` steps in launches of at most `limit`.
class CountingListener : public StepListener {
 public:
  CountingListener(int64_t total, int64_t limit) : total_(total), limit_(limit) {}
  int64_t position() const override { return done; }
  int64_t launch_limit(int64_t after) override { return std::min(limit_, total_ - done - after); }
  bool after_launch(const StepLaunch& launch) override {
    done += launch.batches.steps;
    launches.push_back(launch.batches.steps);
    if (done >= raise_at) {
      raise_at = INT64_MAX;
      std::raise(SIGTERM);
    }
    return done < stop_at;
  }

  int64_t done = 0;
  int64_t stop_at = INT64_MAX;
  int64_t raise_at = INT64_MAX;  // a signal comes after so many steps
  std::vector<int64_t> launches;

 private:
  int64_t total_;
  int64_t limit_;
};

class StepDriverTest : public ::testing::Test {
 protected:
  ~StepDriverTest() override {
    signals_.reset();
    const StopSignals forgets_those_of_this_test;
  }
  static StepDriver driver(CountedInput& input, StepDriverOptions options = {}) {
    options.input = &input;
    options.run = [](const data::StackedSteps&) { return std::span<const Tensor>(); };
    options.launch_seconds = 0;
    return StepDriver(std::move(options));
  }

  std::optional<StopSignals> signals_{std::in_place};
  Heartbeat heartbeat_{0};
};

TEST_F(StepDriverTest, LaunchesWhatTheListenerWantsAndReadsTheNextMeanwhile) {
  CountedInput input(100);
  CountingListener listener(10, 4);
  EXPECT_EQ(driver(input).drive(listener, heartbeat_), StepDriver::End::steps);
  EXPECT_THAT(listener.launches, ElementsAre(4, 4, 2));
  EXPECT_THAT(input.asked, ElementsAre(Pair(4, 4), Pair(4, 2), Pair(2, 0)));
}

TEST_F(StepDriverTest, EndsWithTheInput) {
  CountedInput input(5);
  CountingListener listener(10, 4);
  StepDriver all = driver(input);
  EXPECT_EQ(all.drive(listener, heartbeat_), StepDriver::End::input);
  EXPECT_THAT(listener.launches, ElementsAre(4, 1));
  EXPECT_EQ(all.ahead(), 0);
}

TEST_F(StepDriverTest, BeginsWithOneStepWhoseTimeIsNotKnown) {
  CountedInput input(100);
  CountingListener listener(50, 40);
  StepDriver timed({.input = &input,
                    .run = [](const data::StackedSteps&) { return std::span<const Tensor>(); }});
  EXPECT_EQ(timed.drive(listener, heartbeat_), StepDriver::End::steps);
  EXPECT_EQ(listener.launches.at(0), 1);
  EXPECT_LE(listener.launches.at(1), 8);
  EXPECT_EQ(listener.done, 50);
}

TEST_F(StepDriverTest, AListenerEndsIt) {
  CountedInput input(100);
  CountingListener listener(10, 4);
  listener.stop_at = 4;
  EXPECT_EQ(driver(input).drive(listener, heartbeat_), StepDriver::End::stopped);
  EXPECT_EQ(listener.done, 4);
}

TEST_F(StepDriverTest, ASignalEndsItAfterTheLaunchUnderWay) {
  CountedInput input(100);
  CountingListener listener(100, 4);
  listener.raise_at = 4;
  EXPECT_EQ(driver(input).drive(listener, heartbeat_), StepDriver::End::stopped);
  EXPECT_EQ(listener.done, 4);
}

// The position of the input is then the one after all steps that ran.
TEST_F(StepDriverTest, ASignalLetsStepsRunThatWereRead) {
  class ReadsNoMore : public CountingListener {
   public:
    using CountingListener::CountingListener;
    int64_t launch_limit(int64_t after) override {
      if (after > 0 && StopSignals::received() != nullptr) return 0;
      return CountingListener::launch_limit(after);
    }
  };
  CountedInput input(100);
  ReadsNoMore listener(100, 4);
  listener.raise_at = 4;
  EXPECT_EQ(driver(input, {.runs_what_was_read = true}).drive(listener, heartbeat_),
            StepDriver::End::stopped);
  EXPECT_EQ(listener.done, 8);
  EXPECT_THAT(input.asked, ElementsAre(Pair(4, 4), Pair(4, 0)));
}

}  // namespace
}  // namespace systole::train
