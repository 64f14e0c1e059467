#include "systole/base/counted.h"

#include <gtest/gtest.h>

namespace systole {
namespace {

TEST(CountedTest, OneIsNoPlural) {
  EXPECT_EQ(counted(0, "file"), "0 files");
  EXPECT_EQ(counted(1, "file"), "1 file");
  EXPECT_EQ(counted(2, "file"), "2 files");
}

}  // namespace
}  // namespace systole
