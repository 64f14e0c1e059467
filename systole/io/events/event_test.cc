#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "systole/io/events/event_reader.h"
#include "systole/io/events/event_writer.h"
#include "systole/io/file_systems/memory_file_system.h"
#include "systole/io/local/local_file_system.h"
#include "systole/io/testing/golden.h"

namespace systole {
namespace {

TEST(HistogramTest, BucketsAreTensorFlows) {
  const auto limits = histogram_limits();
  EXPECT_EQ(limits.size() % 2, 1U);
  EXPECT_EQ(limits[limits.size() / 2], 0.0);
  EXPECT_EQ(limits[limits.size() / 2 + 1], 1e-12);
  EXPECT_EQ(limits.back(), std::numeric_limits<double>::max());
  EXPECT_EQ(limits.front(), -std::numeric_limits<double>::max());
}

TEST(HistogramTest, EmptyRunsAreOneBucket) {
  const Histogram h = make_histogram(Tensor::of<float>({4}, {0, 0, 1, -1}));
  EXPECT_EQ(h.num, 4);
  EXPECT_EQ(h.min, -1);
  EXPECT_EQ(h.max, 1);
  EXPECT_EQ(h.sum, 0);
  EXPECT_EQ(h.sum_squares, 2);
  EXPECT_THAT(h.bucket, ::testing::ElementsAre(0, 1, 0, 2, 0, 1, 0));
  EXPECT_EQ(h.bucket_limit.back(), std::numeric_limits<double>::max());
  EXPECT_EQ(h.bucket_limit[3], 1e-12);
}

TEST(HistogramTest, WhatHasNone) {
  const auto error_of = [](const Tensor& tensor) -> std::string {
    try {
      make_histogram(tensor);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(error_of(Tensor::of<float>({2}, {1, std::nanf("")})),
            "INVALID_ARGUMENT: histogram: element 1 of f32[2], got nan, expected finite numbers");
  EXPECT_EQ(error_of(Tensor("a")),
            "INVALID_ARGUMENT: histogram: dtype, got string, expected real numbers");
  EXPECT_EQ(make_histogram(Tensor::zeros(DType::f32, {0})).bucket.size(), 1U);
}

class EventFileTest : public ::testing::Test {
 protected:
  // One event of each kind.
  std::string write_all() {
    EventWriter writer(fs_, "logs", ".x", clock_);
    writer.add_graph("graph");
    writer.add_session_log(SessionStatus::start, 1, "logs/model.ckpt");
    writer.add_scalar("loss", 1, 0.5);
    writer.add_histogram("weights", 2, Tensor::of<float>({2}, {1, 2}));
    writer.add_image("digit", 2, {.height = 1, .width = 2, .colorspace = 1, .encoded = "png"});
    writer.add_text("note", 3, Tensor("**hello**"));
    writer.close();
    return writer.path();
  }

  std::string describe(const std::string& path) {
    std::string text;
    try {
      EventReader reader(fs_, path);
      while (const auto event = reader.next()) {
        text += fmt::format("{} {} {}", event->step, to_string(event->kind), event->text);
        for (const SummaryValue& value : event->values) {
          text += fmt::format("{}={} {}", value.tag, to_string(value.kind), value.scalar);
        }
        text += "\n";
      }
    } catch (const Error& error) {
      text += error.what();
    }
    return text;
  }

  MemoryFileSystem fs_;
  FakeClock clock_;
};

constexpr const char* kAll =
    "0 file_version brain.Event:2\n"
    "0 graph_def graph\n"
    "1 session_log logs/model.ckpt\n"
    "1 summary loss=simple_value 0.5\n"
    "2 summary weights=histo 0\n"
    "2 summary digit=image 0\n"
    "3 summary note=tensor 0\n";

TEST_F(EventFileTest, ComesBack) {
  clock_.advance(std::chrono::milliseconds(1'548'797'801'500));
  const std::string path = write_all();
  EXPECT_THAT(path, ::testing::MatchesRegex("logs/events.out.tfevents.1548797801..+[.]x"));
  EXPECT_EQ(describe(path), kAll);
  EventReader reader(fs_, path);
  EXPECT_EQ(reader.next()->wall_time, 1548797801);
  EXPECT_EQ(reader.next()->wall_time, 1548797801.5);
  const EventFileSummary summary = summarize_events(fs_, path);
  EXPECT_EQ(summary.num_events, 7);
  const SummaryValue& note = summary.tags.at("note")[0].last;
  EXPECT_EQ(note.plugin, "text");
  EXPECT_EQ(note.tensor.item<std::string>(), "**hello**");
  EXPECT_EQ(summary.tags.at("digit")[0].last.image.encoded, "png");
}

TEST_F(EventFileTest, TheFirstRecordIsTensorFlows) {
  EventWriter writer(fs_, "logs", "", clock_);
  const std::string bytes = read_file(fs_, writer.path());
  EXPECT_EQ(bytes.size(), 12U + 24 - 9 + 4);  // FakeClock begins at 0: no wall_time is written
  EXPECT_EQ(bytes.substr(12, 15), "\x1a\rbrain.Event:2");
}

TEST_F(EventFileTest, TwoWritersInOneSecond) {
  const std::string first = write_all();
  const std::string second = write_all();
  EXPECT_NE(first, second);
  EXPECT_EQ(describe(first), describe(second));
}

TEST_F(EventFileTest, WhatIsFlushedCanBeRead) {
  EventWriter writer(fs_, "logs", "", clock_);
  EventReader reader(fs_, writer.path());
  EXPECT_TRUE(reader.next());
  EXPECT_FALSE(reader.next());
  writer.add_scalar("loss", 1, 0.5);
  writer.flush();
  const auto event = reader.next();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->values[0].tag, "loss");
}

TEST_F(EventFileTest, TruncationAndFlips) {
  const std::string path = write_all();
  const std::string bytes = read_file(fs_, path);
  for (size_t size = 0; size < bytes.size(); ++size) {
    write_file_atomically(fs_, "cut", bytes.substr(0, size));
    const std::string got = describe("cut");
    EXPECT_TRUE(got.find("DATA_LOSS: cut: ") != std::string::npos ||
                std::string_view(kAll).starts_with(got))
        << size << got;
  }
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    write_file_atomically(fs_, "flipped", flipped);
    EXPECT_THAT(describe("flipped"), ::testing::HasSubstr("DATA_LOSS: flipped: ")) << bit;
  }
}

// -- What TensorFlow wrote

void expect_tag(const TagSummary& tag, const nlohmann::json& expected) {
  EXPECT_EQ(tag.count, expected["count"]);
  EXPECT_EQ(tag.first_step, expected["first_step"]);
  EXPECT_EQ(tag.last_step, expected["last_step"]);
  EXPECT_EQ(tag.plugin, expected["plugin"]);
  if (tag.kind == SummaryValue::Kind::scalar) {
    EXPECT_EQ(tag.first.scalar, expected["first"].get<float>());
    EXPECT_EQ(tag.last.scalar, expected["last"].get<float>());
  }
  if (tag.kind != SummaryValue::Kind::histogram) return;
  const Histogram& histogram = tag.last.histogram;
  const auto& last = expected["last"];
  EXPECT_EQ(histogram.bucket.size(), last["buckets"]);
  EXPECT_EQ(histogram.max, last["max"].get<double>());
  EXPECT_EQ(histogram.num, last["num"].get<double>());
  EXPECT_EQ(histogram.sum, last["sum"].get<double>());
  EXPECT_EQ(histogram.sum_squares, last["sum_squares"].get<double>());
  for (const double limit : histogram.bucket_limit) {
    EXPECT_TRUE(std::ranges::binary_search(histogram_limits(), limit)) << limit;
  }
}

class GoldenEventTest : public testing::GoldenTest {};

TEST_P(GoldenEventTest, EveryTagReadsAsExpected) {
  for (const auto& [name, expected] : golden().expected("tfevents").items()) {
    SCOPED_TRACE(name);
    const auto summary = summarize_events(local_file_system(), golden().path(name));
    EXPECT_EQ(summary.num_events, expected["n_events"]);
    EXPECT_EQ(summary.first_wall_time, expected["first_wall_time"].get<double>());
    EXPECT_EQ(nlohmann::json(summary.kinds), expected["kinds"]);
    ASSERT_EQ(summary.tags.size(), expected["tags"].size());
    for (const auto& [tag, rows] : expected["tags"].items()) {
      SCOPED_TRACE(tag);
      const auto& got = summary.tags.at(tag);
      ASSERT_EQ(got.size(), rows.size());
      for (const auto& row : rows) {
        const auto same = std::ranges::find_if(
            got, [&](const TagSummary& t) { return to_string(t.kind) == row["kind"]; });
        ASSERT_NE(same, got.end());
        expect_tag(*same, row);
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Folders, GoldenEventTest, testing::golden_folders(), testing::golden_name);

}  // namespace
}  // namespace systole
