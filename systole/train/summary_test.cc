#include "systole/train/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "systole/base/testing/error_of.h"
#include "systole/graph/api/array_ops.h"
#include "systole/io/events/event_reader.h"
#include "systole/io/file_systems/memory_file_system.h"
#include "systole/io/images/image.h"
#include "systole/session/session.h"

namespace systole {
namespace {

using systole::testing::error_of;

class SummaryTest : public ::testing::Test {
 protected:
  SummaryTest() : scope_(*graph_) {}
  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  GraphScope scope_;
};

TEST_F(SummaryTest, TagsAreTensorFlows) {
  const Output x = constant(Tensor::of<float>({2}, {1, 2}));
  summary::scalar("loss", 0.5F);
  summary::scalar("loss", 0.5F);
  {
    const NameScope tower("tower");
    summary::histogram("weights of/it", x);
    summary::scalar("a b", 1.0F, {.family = "fam"});
  }
  std::vector<std::string> tags;
  for (const summary::Record& record : summary::collected(*graph_)) tags.push_back(record.tag);
  EXPECT_THAT(tags,
              ::testing::ElementsAre("loss", "loss_1", "tower/weights_of/it", "fam/tower/fam/a_b"));
  EXPECT_EQ(graph_->find_node("loss")->op_name(), "ScalarSummary");
}

TEST_F(SummaryTest, WhatDoesNotFit) {
  EXPECT_THAT(error_of([] {
                summary::scalar("x", constant(Tensor::of<float>({2}, {1, 2})));
              }),
              ::testing::HasSubstr("ScalarSummary: 'x', got f32[2], expected a real scalar, at"));
  EXPECT_THAT(error_of([] {
                summary::image("x", constant(Tensor::of<float>({2}, {1, 2})));
              }),
              ::testing::HasSubstr("expected u8 or floats of [batch, height, width, 1, 3 or 4]"));
}

TEST_F(SummaryTest, ValuesOfARunBecomeEvents) {
  const Output x = placeholder(DType::f32, {2, 1, 2, 1}, "x");
  summary::scalar("one", 1.0F);
  summary::histogram("values", x);
  summary::image("images", x, {.max_outputs = 2});
  summary::image("single", x, {.max_outputs = 1});
  const auto records = summary::collected(*graph_);
  std::vector<Fetch> fetches;
  for (const summary::Record& record : records) fetches.emplace_back(record.value);
  Session session("", {.graph = graph_.get()});
  const Tensor images = Tensor::of<float>({2, 1, 2, 1}, {0, 0.5, -1, 1});
  const auto values = session.run(fetches, std::vector<FeedItem>{{x, images}});
  MemoryFileSystem fs;
  FakeClock clock;
  EventWriter events(fs, "logs", "", clock);
  SummaryWriter(events).add(records, values, 100);
  events.flush();
  const auto summary = summarize_events(fs, events.path());
  EXPECT_EQ(summary.num_events, 2);
  EXPECT_EQ(summary.tags.at("one")[0].last.scalar, 1);
  EXPECT_EQ(summary.tags.at("one")[0].last_step, 100);
  EXPECT_EQ(summary.tags.at("values")[0].last.histogram.num, 4);
  EXPECT_TRUE(summary.tags.contains("single/image"));
  const auto pixels = [&](const std::string& tag) {
    return decode_png(summary.tags.at(tag)[0].last.image.encoded).to_string();
  };
  EXPECT_EQ(pixels("images/image/0"), "u8[1,2,1] {{{0}, {255}}}");
  EXPECT_EQ(pixels("images/image/1"), "u8[1,2,1] {{{1}, {255}}}");
}

TEST_F(SummaryTest, ANonFiniteValueIsNamed) {
  const std::vector<summary::Record> records = {{.tag = "w", .kind = summary::Kind::histogram}};
  const std::vector<Tensor> values = {Tensor::of<float>({2}, {1, INFINITY})};
  MemoryFileSystem fs;
  EventWriter events(fs, "logs");
  EXPECT_EQ(error_of([&] { SummaryWriter(events).add(records, values, 7); }),
            "INVALID_ARGUMENT: histogram: element 1 of f32[2], got inf, expected finite numbers, "
            "summary 'w' at step 7");
}

}  // namespace
}  // namespace systole
