#include "apps/board/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "systole/base/testing/error_of.h"
#include "systole/io/file_systems/memory_file_system.h"
#include "systole/io/wire/compression.h"

namespace systole::board {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

TEST(TraceTest, ColumnsAreSortedAndNested) {
  const json trace = json::parse(trace_json(R"({"displayTimeUnit": "ns", "traceEvents": [
      {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "host"}},
      {"ph": "M", "pid": 1, "tid": 7, "name": "thread_name", "args": {"name": "main"}},
      {"ph": "X", "pid": 1, "tid": 7, "name": "inner", "ts": 2, "dur": 3, "args": {"n": 4}},
      {"ph": "X", "pid": 1, "tid": 7, "name": "outer", "ts": 1.5, "dur": 10},
      {"ph": "B", "pid": 1, "tid": 8, "name": "span", "ts": 5},
      {"ph": "E", "pid": 1, "tid": 8, "ts": 9},
      {"ph": "C", "pid": 1, "tid": 8, "name": "counter", "ts": 9},
      {}
    ]})"));
  EXPECT_EQ(trace["events"], 3);
  EXPECT_EQ(trace["tracks"], json::parse(R"([["host", "main"], ["host", "8"]])"));
  EXPECT_EQ(trace["begin"], json::parse("[1.5, 2, 5]"));
  EXPECT_EQ(trace["duration"], json::parse("[10, 3, 4]"));
  EXPECT_EQ(trace["depth"], json::parse("[0, 1, 0]"));
  EXPECT_EQ(trace["track"], json::parse("[0, 0, 1]"));
  EXPECT_EQ(trace["args"], json::parse(R"({"1": {"n": 4}})"));
}

TEST(TraceTest, OtherTextIsRefused) {
  for (const char* text : {"", "[]", "{}", "{\"traceEvents\": [", "\xff"}) {
    EXPECT_THAT(testing::error_of([&] { trace_json(text); }), HasSubstr("trace-event JSON"))
        << text;
  }
  EXPECT_EQ(
      json::parse(trace_json(R"({"traceEvents": [1, null, {"ph": "X", "ts": "x"}]})"))["events"],
      1);
}

TEST(TraceTest, AGzipBombIsRefused) {
  MemoryFileSystem files;
  const auto file = files.create("bomb.gz");
  const auto packed = compress_into(*file, Compression::gzip, "bomb.gz");
  const std::string zeros(1U << 20U, '\0');
  for (int i = 0; i < 64; ++i) packed->append(zeros);
  packed->close();
  file->close();
  EXPECT_LT(files.stat("bomb.gz").size, 1U << 20U);
  EXPECT_THAT(testing::error_of([&] { read_gzip(files, "bomb.gz", 10U << 20U); }),
              HasSubstr("RESOURCE_EXHAUSTED"));
  EXPECT_EQ(read_gzip(files, "bomb.gz", 64U << 20U).size(), 64U << 20U);
}

}  // namespace
}  // namespace systole::board
