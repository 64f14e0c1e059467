#include "systole/io/buckets/object_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/base/testing/error_of.h"

namespace systole::buckets {
namespace {

using systole::testing::error_of;
using ::testing::HasSubstr;

std::string checked(const char* scheme, const std::string& bucket, const std::string& key = "k") {
  return error_of([&] { check_object_name(scheme, "p", {bucket, key}); });
}

TEST(ObjectNamesTest, BucketsOfBothServices) {
  for (const char* scheme : {"s3", "gs"}) {
    for (const std::string bucket : {"abc", "a-b.c-1", "1.2.3", "bucket--x"}) {
      EXPECT_EQ(checked(scheme, bucket), "no error") << bucket;
    }
    for (const std::string bucket :
         {"", "ab", "localhost:17999#", "a/b", "a@b.c", "a?b", "a b", "a%2fb", "a\r\nb", "Abc",
          "-ab", "ab-", ".ab", "ab.", "a..b", "127.0.0.1",
          "b\xc3\xbc"
          "cket",
          "[::1]", "a\\b"}) {
      EXPECT_THAT(checked(scheme, bucket), HasSubstr("INVALID_ARGUMENT: p: bucket, got")) << bucket;
    }
    EXPECT_EQ(checked(scheme, std::string(63, 'a')), "no error");
    EXPECT_THAT(checked(scheme, std::string(64, 'a')), HasSubstr("3 to 63 characters"));
  }
  EXPECT_EQ(checked("gs", "a_b"), "no error");
  EXPECT_THAT(checked("s3", "a_b"), HasSubstr("lower-case letters"));
  const std::string part(63, 'a');
  EXPECT_EQ(checked("gs", part + "." + part + "." + part), "no error");
  EXPECT_THAT(checked("s3", part + "." + part), HasSubstr("3 to 63 characters"));
  EXPECT_THAT(checked("gs", part + "a.b"), HasSubstr("between dots"));
}

TEST(ObjectNamesTest, Keys) {
  for (const char* scheme : {"s3", "gs"}) {
    for (const std::string key : {"", "a/b c#?%+&", "\xe4\xb8\xad\xf0\x9f\x98\x80"}) {
      EXPECT_EQ(checked(scheme, "abc", key), "no error") << key;
    }
    EXPECT_EQ(checked(scheme, "abc", std::string(1024, 'k')), "no error");
    EXPECT_THAT(checked(scheme, "abc", std::string(1025, 'k')), HasSubstr("at most 1024 bytes"));
    for (const std::string key : {"\xff", "\xc0\xaf", "\xed\xa0\x80", "a\xe4\xb8"}) {
      EXPECT_THAT(checked(scheme, "abc", key), HasSubstr("expected UTF-8"));
    }
    for (const std::string& key :
         {std::string("a\nb"), std::string("a\rb"), std::string("a\0b", 3)}) {
      EXPECT_THAT(checked(scheme, "abc", key), HasSubstr("no ends of lines"));
    }
  }
}

TEST(ObjectNamesTest, EtagsStayInTheirHeader) {
  EXPECT_EQ(checked_etag("w", "\"abc\""), "\"abc\"");
  EXPECT_THAT(error_of([] { checked_etag("w", "\"a\r\nX: 1\""); }),
              HasSubstr("DATA_LOSS: w, got the ETag '\"a\\r\\nX: 1\"'"));
}

}  // namespace
}  // namespace systole::buckets
