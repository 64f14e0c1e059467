#include "apps/board/trace.h"

#include <fmt/format.h>
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

// A gzip file of `text`, repeated.
void write_gzip(FileSystem& files, const std::string& path, const std::string& text, int times) {
  const auto file = files.create(path);
  const auto packed = compress_into(*file, Compression::gzip, path);
  for (int i = 0; i < times; ++i) packed->append(text);
  packed->close();
  file->close();
}

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
  write_gzip(files, "bomb.gz", std::string(1U << 20U, ' '), 64);
  EXPECT_LT(files.stat("bomb.gz").size, 1U << 20U);
  EXPECT_THAT(testing::error_of([&] { trace_json_of_gzip(files, "bomb.gz", 512U << 20U); }),
              HasSubstr("RESOURCE_EXHAUSTED"));
  const std::string event = R"({"ph": "X", "ts": 1, "dur": 2, "name": "a"},)";
  std::string events = R"({"traceEvents": [)";
  for (int i = 0; i < 20'000; ++i) events += event;
  events.back() = ' ';
  write_gzip(files, "trace.gz", events + "]}", 1);
  EXPECT_EQ(json::parse(trace_json_of_gzip(files, "trace.gz", 512U << 20U))["events"], 20'000);
  EXPECT_THAT(testing::error_of([&] { trace_json_of_gzip(files, "trace.gz", 100'000); }),
              HasSubstr("expected at most that"));
}

// What is kept of a trace is bounded, whatever takes the place of events.
TEST(TraceTest, MemoryDoesNotGrowWithTheText) {
  const std::string large(2U << 20U, '1');
  for (const std::string& text : {R"({"traceEvents": [{"ph": "X", "name": ")" + large + "\"}]}",
                                  R"({"other": [)" + large + "], \"traceEvents\": []}",
                                  R"({"traceEvents": [{"ph": "X", "args": {"a": [)" +
                                      std::string(2U << 20U, '[') + "]}}]}"}) {
    EXPECT_THAT(testing::error_of([&] { trace_json(text); }), HasSubstr("RESOURCE_EXHAUSTED"));
  }
  std::string names = R"({"traceEvents": [)";
  for (int i = 0; i < 15'000; ++i) {
    names += fmt::format(R"({{"ph": "X", "pid": {}, "name": "{}{}", "args": {{"a": "{}"}}}},)", i,
                         std::string(250, 'n'), i, std::string(250, 'v'));
  }
  names.back() = ' ';
  const std::string trace = trace_json(names + "]}");
  EXPECT_EQ(json::parse(trace)["events"], 15'000);
  EXPECT_EQ(json::parse(trace)["tracks"].size(), 10'000U);
  EXPECT_LT(trace.size(), 40U << 20U);
}

}  // namespace
}  // namespace systole::board
