#include "systole/base/text.h"

#include <gmock/gmock.h>

namespace systole {
namespace {

TEST(Text, BlanksAtTheEndsGo) {
  EXPECT_EQ(without_blanks(" \ta b\t "), "a b");
  EXPECT_EQ(without_blanks("a\r\n"), "a\r\n");
  EXPECT_EQ(without_blanks(" a\r\n", " \t\r\n"), "a");
  EXPECT_EQ(without_blanks(" \t"), "");
  EXPECT_EQ(without_blanks(""), "");
}

TEST(Text, Utf8CharactersOfAllLengths) {
  const std::pair<uint32_t, std::string> rows[] = {
      {0, std::string(1, '\0')},     {0x7f, "\x7f"},           {0x80, "\xc2\x80"},
      {0x7ff, "\xdf\xbf"},           {0x800, "\xe0\xa0\x80"},  {0xd7ff, "\xed\x9f\xbf"},
      {0xe000, "\xee\x80\x80"},      {0xffff, "\xef\xbf\xbf"}, {0x10000, "\xf0\x90\x80\x80"},
      {0x10ffff, "\xf4\x8f\xbf\xbf"}};
  for (const auto& [code, bytes] : rows) {
    std::string text;
    append_utf8(text, code);
    EXPECT_EQ(text, bytes) << code;
    EXPECT_EQ(utf8_length(bytes + "x"), bytes.size()) << code;
  }
}

TEST(Text, BytesThatAreNotUtf8) {
  for (const char* bytes :
       {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2 ", "\xe0\x9f\xbf", "\xe2\x82",
        "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"}) {
    EXPECT_EQ(utf8_length(bytes), 0) << bytes;
  }
}

}  // namespace
}  // namespace systole
