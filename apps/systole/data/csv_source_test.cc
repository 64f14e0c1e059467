// Columns of tables and what they become.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "apps/systole/data/example_source.h"
#include "systole/base/log.h"
#include "systole/io/file_systems/memory_file_system.h"

namespace systole::app {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string example(const Split& split, int64_t index) {
  ExampleBuilder builder;
  split.source->read(index, builder);
  return builder.serialize();
}

TEST(CsvSourceTest, ColumnsAreOfOneKindInAllFiles) {
  MemoryFileSystem fs({{"a.csv", "a,b,c\n1,2,\n"}, {"b.csv", "b,a,c\nx,1.5,7\n"}});
  const auto alone = csv_splits(fs, {.inputs = {"a.csv"}});
  EXPECT_EQ(example(alone[0], 0), ExampleBuilder().int64("a", 1).int64("b", 2).serialize());
  const auto both = csv_splits(fs, {.inputs = {"a.csv", "b.csv"}});
  EXPECT_EQ(example(both[0], 0), ExampleBuilder().float32("a", 1.0F).bytes("b", "2").serialize());
  EXPECT_EQ(example(both[1], 0),
            ExampleBuilder().float32("a", 1.5F).bytes("b", "x").int64("c", 7).serialize());
  // A conversion of one is not continued as a conversion of the other.
  EXPECT_NE(alone[0].source->identity(), both[0].source->identity());
  EXPECT_EQ(alone[0].source->identity(),
            csv_splits(fs, {.inputs = {"a.csv"}})[0].source->identity());
}

TEST(CsvSourceTest, NumbersAreThoseOfCsvDataset) {
  MemoryFileSystem fs({{"t.csv", "a,b,c,d\n1,+5,-inf, 2 \nnan,-3,Infinity,1e-60\n"}});
  const LogCapture log;
  const auto splits = csv_splits(fs, {.inputs = {"t.csv"}});
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(example(splits[0], 0), ExampleBuilder()
                                       .float32("a", 1)
                                       .int64("b", 5)
                                       .float32("c", -kInfinity)
                                       .float32("d", 2)
                                       .serialize());
  const std::string second = example(splits[0], 1);
  const ExampleView view(second);
  EXPECT_TRUE(std::isnan(view.float32("a")));
  EXPECT_EQ(view.int64("b"), -3);
  EXPECT_EQ(view.float32("c"), kInfinity);
  EXPECT_EQ(view.float32("d"), 0);
  EXPECT_THAT(log.messages(), IsEmpty());
}

TEST(CsvSourceTest, TellsWhichFieldsMakeAColumnText) {
  MemoryFileSystem fs({{"t.csv",
                        "large,id,missing,word,both\n"
                        "1,18446744073709551615,NA,x,7\n"
                        "1e400,7,2,y,a\n"
                        "-1e500,8,NA,3,b\n"},
                       {"u.csv", "large\n3\n"}});
  const LogCapture log;
  const auto splits = csv_splits(fs, {.inputs = {"u.csv", "t.csv"}});
  EXPECT_THAT(
      log.messages(),
      ElementsAre("warning: t.csv:2:3: column 'id' becomes bytes, got '18446744073709551615', "
                  "expected numbers that int64 or float holds as in 2 other fields",
                  "warning: t.csv:3:1: column 'large' becomes bytes, got '1e400' (2 fields like "
                  "it), expected numbers that int64 or float holds as in 2 other fields",
                  "warning: t.csv:2:24: column 'missing' becomes bytes, got 'NA' (2 fields like "
                  "it), expected numbers as in 1 other field"));
  EXPECT_EQ(example(splits[0], 0), ExampleBuilder().bytes("large", "3").serialize());
  EXPECT_THAT(example(splits[1], 1), HasSubstr("1e400"));
}

}  // namespace
}  // namespace systole::app
