#include "systole/base/help_text.h"

#include <gtest/gtest.h>

namespace systole {
namespace {

TEST(HelpTextTest, LinesEndAtBlanks) {
  EXPECT_EQ(wrapped("", 2, 10), "");
  EXPECT_EQ(wrapped("one two three", 0, 7), "one two\nthree");
  EXPECT_EQ(wrapped("one two three", 4, 11), "one two\n    three");
  EXPECT_EQ(wrapped("a longerthanall b", 1, 5), "a\n longerthanall\n b");
}

TEST(HelpTextTest, Rows) {
  EXPECT_EQ(help_rows("Options:\n", {}, 40), "");
  EXPECT_EQ(help_rows("Options:\n", {{"-n N", "How many there are"}, {"--quiet", ""}}, 24),
            "\nOptions:\n"
            "  -n N     How many\n"
            "           there are\n"
            "  --quiet\n");
  EXPECT_EQ(help_rows("", {{"--a-name-that-is-far-too-long", "Text"}, {"-x", "y"}}, 60),
            "\n"
            "  --a-name-that-is-far-too-long\n"
            "      Text\n"
            "  -x  y\n");
}

TEST(HelpTextTest, WidthIsThatOfSomeTerminal) {
  EXPECT_GE(terminal_width(), 40U);
  EXPECT_LE(terminal_width(), 100U);
}

}  // namespace
}  // namespace systole
