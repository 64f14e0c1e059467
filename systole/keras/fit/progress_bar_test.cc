#include "systole/keras/fit/progress_bar.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace systole::keras {
namespace {

Logs bar_logs(double loss, double acc) {
  Logs logs;
  logs.set("loss", loss);
  logs.set("acc", acc);
  return logs;
}

TEST(ProgressBar, LinesAreThoseOfKeras) {
  EXPECT_EQ(
      ProgressBar::line(3200, 25000, 44.1, bar_logs(0.6931, 0.5078), "sample"),
      " 3200/25000 [==>...........................] - ETA: 5:00 - loss: 0.6931 - acc: 0.5078");
  EXPECT_EQ(ProgressBar::line(25000, 25000, 17.25, bar_logs(0.0001, 1), "sample"),
            "25000/25000 [==============================] - 17s 690us/sample - loss: 1.0000e-04 - "
            "acc: 1.0000");
  EXPECT_EQ(ProgressBar::line(1, 100, 0.9, {}, "step"),
            "  1/100 [..............................] - ETA: 1:29");
  EXPECT_EQ(ProgressBar::line(1, 100, 90, {}, "step"),
            "  1/100 [..............................] - ETA: 2:28:30");
  EXPECT_EQ(ProgressBar::line(4, 4, 10, {}, "step"),
            "4/4 [==============================] - 10s 2s/step");
  EXPECT_EQ(ProgressBar::line(7, 0, 0.7, {}, "step"), "      7/Unknown - 1s 100ms/step");
}

TEST(ProgressBar, WritesOneLineToAFile) {
  std::FILE* const file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  const ProgressOutput output(file, false);
  ProgressBar bar(10, "sample");
  EXPECT_FALSE(bar.terminal());
  bar.update(4, bar_logs(2, 0));
  bar.finish(bar_logs(1, 0.5));
  std::rewind(file);
  std::array<char, 256> text{};
  const size_t size = std::fread(text.data(), 1, text.size(), file);
  std::fclose(file);
  EXPECT_THAT(
      std::string(text.data(), size),
      ::testing::MatchesRegex("10/10 \\[={30}\\] - 0s .*/sample - loss: 1.0000 - acc: 0.5000\n"));
}

// On a terminal the bar goes back over what it drew, and blanks cover a longer text.
TEST(ProgressBar, DrawsOverItselfOnATerminal) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0 || ::grantpt(terminal) != 0 || ::unlockpt(terminal) != 0) {
    GTEST_SKIP() << "no pseudo terminal";
  }
  std::array<char, 64> name{};
  ASSERT_EQ(::ptsname_r(terminal, name.data(), name.size()), 0);
  std::FILE* const out = std::fopen(name.data(), "w");
  ASSERT_NE(out, nullptr);
  const ProgressOutput output(out, ::isatty(::fileno(out)) == 1);
  ProgressBar bar(10, "step");
  EXPECT_TRUE(bar.terminal());
  bar.update(4, bar_logs(2, 0.25));
  bar.finish({});
  // A read may return a part of it.
  std::array<char, 1024> text{};
  std::string drawn;
  while (drawn.find('\n') == std::string::npos) {
    const ssize_t size = ::read(terminal, text.data(), text.size());
    ASSERT_GT(size, 0);
    drawn.append(text.data(), static_cast<size_t>(size));
  }
  std::fclose(out);
  ::close(terminal);
  const std::string first =
      "\r 4/10 [===========>..................] - ETA: 0s - loss: 2.0000 - "
      "acc: 0.2500";
  ASSERT_TRUE(drawn.starts_with(first)) << drawn;
  const std::string back(first.size() - 1, '\b');
  EXPECT_EQ(drawn.substr(first.size(), back.size() + 1), back + "\r");
  const std::string last = drawn.substr(first.size() + back.size() + 1);
  EXPECT_THAT(last, ::testing::StartsWith("10/10 [==============================] - 0s "));
  EXPECT_EQ(last.find('\r'), first.size() - 1);  // "\r\n" once the longer text is covered
}

}  // namespace
}  // namespace systole::keras
