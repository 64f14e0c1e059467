#include "systole/train/file_writer.h"

#include <gmock/gmock.h>

#include "systole/base/testing/error_of.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/graph/api/array_ops.h"
#include "systole/io/events/event_reader.h"
#include "systole/io/file_systems/memory_file_system.h"
#include "systole/io/local/local_file_system.h"
#include "systole/session/session.h"
#include "systole/train/summary.h"

namespace systole {
namespace {

using systole::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FileWriterTest : public ::testing::Test {
 protected:
  static std::vector<Event> events(FileSystem& files, const std::string& folder) {
    EventReader reader(files, join_path(folder, files.list(folder).at(0)));
    std::vector<Event> result;
    while (auto event = reader.next()) result.push_back(std::move(*event));
    return result;
  }

  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  GraphScope scope_{*graph_};
  MemoryFileSystem files_;
  FakeClock clock_;
};

TEST_F(FileWriterTest, ASessionsSummaries) {
  EXPECT_FALSE(summary::merge_all().valid());
  const Output x = placeholder(DType::f32, {2});
  const Output loss = summary::scalar("loss", strided_slice(x, {0}, {1}, {.shrink_axis_mask = 1}));
  summary::histogram("x", x);
  summary::image("picture", reshape(x, {1, 1, 2, 1}), {.max_outputs = 1});
  const Output merged = summary::merge_all();
  Session session;
  const std::vector<FeedItem> feeds = {{x, Tensor::of<float>({2}, {3, 1})}};
  {
    summary::FileWriter writer("logs", graph_.get(), {.file_system = &files_, .clock = &clock_});
    writer.add_summary(session.run(merged, feeds), 7);
    writer.add_summary(session.run(loss, feeds), 8);
  }
  const std::vector<Event> written = events(files_, "logs");
  ASSERT_EQ(written.size(), 4U);
  EXPECT_EQ(written[1].kind, Event::Kind::graph_def);
  EXPECT_EQ(written[2].step, 7);
  std::vector<std::string> tags;
  for (const SummaryValue& value : written[2].values) tags.push_back(value.tag);
  EXPECT_THAT(tags, ElementsAre("loss", "x", "picture/image"));
  EXPECT_EQ(written[2].values[0].scalar, 3);
  EXPECT_EQ(written[3].values.size(), 1U);
}

TEST_F(FileWriterTest, IsFlushedAfterSomeTime) {
  const testing::TempFolder folder;
  const std::string& logs = folder.path();
  summary::FileWriter writer(logs, nullptr, {.clock = &clock_});
  const Tensor summary = Session().run(summary::scalar("one", 1.0F));
  writer.add_summary(summary, 1);
  EXPECT_EQ(events(local_file_system(), logs).size(), 1U);  // the file's version
  clock_.advance(std::chrono::seconds(121));
  writer.add_summary(summary, 2);
  EXPECT_EQ(events(local_file_system(), logs).size(), 3U);
}

TEST_F(FileWriterTest, WhatIsNoSummary) {
  summary::FileWriter writer("logs", nullptr, {.file_system = &files_});
  EXPECT_THAT(error_of([&] { writer.add_summary(Tensor(1.0F)); }),
              HasSubstr("add_summary: summary, got f32[], expected a string scalar"));
  EXPECT_THAT(error_of([&] { writer.add_summary(Tensor("text")); }),
              HasSubstr("DATA_LOSS: event: summary"));
}

}  // namespace
}  // namespace systole
