#include "systole/backends/remote/worker_capture.h"

#include <gtest/gtest.h>

namespace systole::remote {
namespace {

TEST(WorkerCapture, PutsCallsThatOverlapIntoDifferentRows) {
  const worker::OperationSpan what{"execute", tracing::Kind::launch};
  // The first is of an earlier recording; the others are in the order of their replies.
  const auto rows = rows_of({{50, 120, what, 1},
                             {110, 130, what, 2},
                             {100, 140, what, 3},
                             {135, 150, what, 4},
                             {140, 160, what, 5}},
                            100, "w:1");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].name, "calls of w:1 (1)");
  ASSERT_EQ(rows[0].events.size(), 2U);
  EXPECT_EQ(rows[0].events[0].begin, 0);
  EXPECT_EQ(rows[0].events[0].end, 40);
  EXPECT_EQ(rows[0].events[0].arg("op"), 3);
  EXPECT_EQ(rows[0].events[1].arg("op"), 5);
  ASSERT_EQ(rows[1].events.size(), 2U);
  EXPECT_EQ(rows[1].events[0].arg("op"), 2);
  EXPECT_EQ(rows[1].events[1].arg("op"), 4);
  EXPECT_NE(rows[0].id, rows[1].id);
}

TEST(WorkerCapture, LogsCallsWhileThisProcessRecords) {
  CallLog log;
  worker::v1::Request request;
  request.set_op_id(9);
  request.mutable_put();
  EXPECT_EQ(CallLog::now(), 0);
  log.add(CallLog::now(), request);
  EXPECT_TRUE(log.take().empty());
  ASSERT_TRUE(tracing::start());
  log.add(CallLog::now(), request);
  const auto calls = log.take();
  tracing::stop();
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0].op, 9U);
  EXPECT_STREQ(calls[0].what.name, "put");
  EXPECT_GE(calls[0].end, calls[0].begin);
}

}  // namespace
}  // namespace systole::remote
