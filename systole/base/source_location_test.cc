#include "systole/base/source_location.h"

#include <gtest/gtest.h>

namespace systole {
namespace {

SourceLocation here(const std::source_location& where = std::source_location::current()) {
  return where;
}

TEST(SourceLocationTest, BaseNameAndLine) {
  const int line = __LINE__ + 1;
  const SourceLocation location = here();
  EXPECT_EQ(location.to_string(), "source_location_test.cc:" + std::to_string(line));
  EXPECT_TRUE(location.known());
}

TEST(SourceLocationTest, UnknownIsEmpty) { EXPECT_EQ(SourceLocation().to_string(), ""); }

}  // namespace
}  // namespace systole
