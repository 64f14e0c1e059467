#include "systole/base/progress.h"

#include <gtest/gtest.h>

namespace systole {
namespace {

TEST(ProgressTest, Lines) {
  EXPECT_EQ(progress_line("train", 50, 100, 6, 10),
            "train  [=====>    ]   50 %  50 of 100, 6 s left");
  EXPECT_EQ(progress_line("train", 100, 100, -1, 10), "train  [==========]  100 %  100 of 100");
  EXPECT_EQ(progress_line("x", 0, 0, -1, 0), "x  100 %  0 of 0");
}

TEST(ProgressTest, Durations) {
  EXPECT_EQ(duration_text(5.4), "5 s");
  EXPECT_EQ(duration_text(125), "2 min 5 s");
  EXPECT_EQ(duration_text(3600 * 3 + 60 * 20), "3 h 20 min");
}

// What is written to a file: a line every five seconds, none at the end.
TEST(ProgressTest, PlainLinesNowAndThen) {
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  FakeClock clock;
  Progress progress(clock, file, false, "x", 1000, 100);
  for (int i = 0; i < 9; ++i) {
    if (i == 5) progress.set_note("loss 0.5");
    progress.add(100);
    clock.advance(std::chrono::seconds(2));
  }
  progress.finish();
  std::rewind(file);
  char text[200] = {};
  const size_t size = std::fread(text, 1, sizeof(text), file);
  EXPECT_EQ(std::string(text, size),
            "x   50 %  500 of 1000, 8 s left\n"
            "x   80 %  800 of 1000, 3 s left  loss 0.5\n");
  std::fclose(file);
}

}  // namespace
}  // namespace systole
