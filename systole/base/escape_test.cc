#include "systole/base/escape.h"

#include <gtest/gtest.h>

namespace systole {
namespace {

TEST(EscapeTest, ControlBytesAndBackslashes) {
  EXPECT_EQ(escaped(""), "");
  EXPECT_EQ(escaped("a\n\t\r\\\x01\x7f\"'"), R"(a\n\t\r\\\x01\x7f"')");
  EXPECT_EQ(escaped(std::string("\0\0", 2)), R"(\x00\x00)");
  EXPECT_EQ(escaped("\xc3\xa9"), "\xc3\xa9");
  EXPECT_EQ(escaped("\xc3\xa9", {.ascii = true}), R"(\xc3\xa9)");
  EXPECT_EQ(escaped("say \"a\\b\"", {.quote = '"'}), R"(say \"a\\b\")");
}

TEST(EscapeTest, QuotedTextIsCut) {
  EXPECT_EQ(quoted_text("a\n"), R"('a\n')");
  EXPECT_EQ(quoted_text(std::string(40, 'x')), "'" + std::string(40, 'x') + "'");
  EXPECT_EQ(quoted_text(std::string(41, 'x')), "'" + std::string(40, 'x') + "...'");
}

}  // namespace
}  // namespace systole
