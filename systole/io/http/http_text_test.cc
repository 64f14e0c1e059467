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

TEST(HttpText, HostsOfUrls) {
  EXPECT_EQ(url_host("https://A.b:80/c"), "a.b");
  EXPECT_EQ(url_host("http://[::1]:80/"), "::1");
  EXPECT_EQ(url_host("http://a?b#c"), "a");
  for (const char* url :
       {"", "a.b", "http://user@a/", "http://a\\@b/", "http://a b/", "http://[::1"}) {
    EXPECT_EQ(url_host(url), "") << url;
  }
}

TEST(HttpText, SecretsGoByHttpsOrStayOnThisMachine) {
  for (const char* url :
       {"https://example.com/", "http://localhost:1/", "http://127.0.0.2/", "http://[::1]:8080/"}) {
    EXPECT_TRUE(keeps_secrets(url)) << url;
  }
  for (const char* url : {"http://example.com/", "http://127.0.0.1.example.com/", "file:///a", "",
                          "http://localhost@example.com/", "http://127.0.0.1%2eexample.com/",
                          "ftp://a/", "https://"}) {
    EXPECT_FALSE(keeps_secrets(url)) << url;
  }
}

}  // namespace
}  // namespace systole::http
