#include "systole/base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace systole {
namespace {

using ::testing::ElementsAre;

TEST(LogTest, CapturesEveryLevel) {
  const LogCapture capture;
  log_debug("a {}", 1);
  log_info("b");
  log_warning("c");
  log_error("{}", "d {}");
  EXPECT_THAT(capture.messages(),
              ElementsAre("debug: a 1", "info: b", "warning: c", "error: d {}"));
}

TEST(LogTest, OnceMeansEachTextOnce) {
  for (int round = 0; round < 2; ++round) {
    const LogCapture capture;
    for (int i = 0; i < 4; ++i) log_once(LogLevel::warning, "text {}", i / 2);
    EXPECT_THAT(capture.messages(), ElementsAre("warning: text 0", "warning: text 1"));
  }
}

TEST(LogTest, LevelsBelowAreLeftOut) {
  const LogCapture capture;
  set_log_level(LogLevel::warning);
  EXPECT_FALSE(log_enabled(LogLevel::info));
  log_info("a");
  log_message(LogLevel::info, "b");
  log_warning("c");
  set_log_level(LogLevel::off);
  log_error("d");
  EXPECT_FALSE(log_enabled(LogLevel::off));
  EXPECT_THAT(capture.messages(), ElementsAre("warning: c"));
}

TEST(LogTest, GoesToStderr) {
  ::testing::internal::CaptureStderr();
  log_error("to {}", "stderr");
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, ::testing::EndsWith(" error: to stderr\n"));
}

TEST(LogTest, FromManyThreads) {
  const LogCapture capture;
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int j = 0; j < 100; ++j) log_info("x");
      log_once(LogLevel::info, "once");
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(capture.messages().size(), 401U);
}

}  // namespace
}  // namespace systole
