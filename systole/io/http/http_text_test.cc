#include <gtest/gtest.h>

#include <limits>

#include "systole/io/http/http_client.h"

namespace systole::http {
namespace {

TEST(HttpText, TimesOfRfc3339) {
  EXPECT_EQ(parse_rfc3339("1970-01-01T00:00:01.5Z"), 1'500'000'000);
  EXPECT_EQ(parse_rfc3339("2024-05-01T10:20:30+00:00"), 1'714'558'830'000'000'000);
  EXPECT_EQ(parse_rfc3339("2999-01-01T00:00:00Z"), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(parse_rfc3339("0001-01-01T00:00:00Z"), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(parse_rfc3339("2024-05-01"), std::nullopt);
  EXPECT_EQ(parse_rfc3339("2024-05-01T10:20:30+02:00"), std::nullopt);
}

}  // namespace
}  // namespace systole::http
