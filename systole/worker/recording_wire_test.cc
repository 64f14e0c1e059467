// Recordings as bytes, and the difference of clocks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>

#include "systole/base/testing/error_of.h"
#include "systole/worker/protocol/clock_offset.h"
#include "systole/worker/protocol/convert_recording.h"

namespace systole::worker {
namespace {

using systole::testing::error_of;
using ::testing::HasSubstr;
using tracing::Kind;

constexpr int64_t kPlenty = int64_t{1} << 20;

tracing::Recording recording(int events) {
  auto program = std::make_shared<tracing::Program>();
  program->id = 5;
  program->name = "step \xff";  // no UTF-8
  program->replicas = 8;
  program->ops = {{.name = "dot.0", .category = "convolution", .shapes = {"f32[2]"}, .flops = 10}};
  program->allocations = {{.name = "x", .type = {DType::f32, {2, 3}}, .bytes = 24, .last = 2}};
  tracing::Recording r;
  r.start_unix_ns = 1'700'000'000'000'000'000;
  r.start_steady_ns = 1000;
  r.duration_ns = 5000;
  r.host = "tpu1";
  r.remark = "short";
  r.peaks = tracing::DevicePeaks{.name = "CPU", .cores = 2, .flops_per_second = 1e9};
  r.programs[5] = program;
  tracing::ThreadEvents& thread = r.threads.emplace_back();
  thread = {.name = "session", .id = 7, .dropped = 1};
  for (int i = 0; i < events; ++i) {
    thread.events.push_back({.begin = 10 * i,
                             .end = 10 * i + 5,
                             .name = i % 2 == 0 ? "dot.0" : "step",
                             .kind = i % 2 == 0 ? Kind::op : Kind::step,
                             .args = {{"program", 5}, {"op", -i}}});
  }
  return r;
}

TEST(RecordingWire, ReturnsWhatWasWritten) {
  const tracing::Recording r = decode_recording(encode_recording(recording(3), kPlenty));
  EXPECT_EQ(r.start_unix_ns, 1'700'000'000'000'000'000);
  EXPECT_EQ(r.start_steady_ns, 1000);
  EXPECT_EQ(r.duration_ns, 5000);
  EXPECT_EQ(r.host, "tpu1");
  EXPECT_EQ(r.remark, "short");
  EXPECT_EQ(r.peaks->flops_per_second, 1e9);
  const tracing::Program& program = *r.programs.at(5);
  EXPECT_EQ(program.name, "step \xff");
  EXPECT_EQ(program.ops.at(0).category, "convolution");
  EXPECT_EQ(program.ops.at(0).flops, 10);
  EXPECT_EQ(program.allocations.at(0).type, (TensorType{DType::f32, {2, 3}}));
  const tracing::ThreadEvents& thread = r.threads.at(0);
  EXPECT_EQ(thread.id, 7);
  EXPECT_EQ(thread.dropped, 1);
  ASSERT_EQ(thread.events.size(), 3U);
  EXPECT_EQ(thread.events[1].begin, 10);
  EXPECT_EQ(thread.events[1].end, 15);
  EXPECT_STREQ(thread.events[1].name, "step");
  EXPECT_EQ(thread.events[1].kind, Kind::step);
  EXPECT_EQ(thread.events[2].arg("op", 0), -2);
}

TEST(RecordingWire, LeavesOutTheOldestEventsBeyondALimit) {
  const std::string all = encode_recording(recording(1000), kPlenty);
  const std::string some = encode_recording(recording(1000), 4000);
  EXPECT_LE(some.size(), 4000U);
  EXPECT_GT(all.size(), some.size());
  const tracing::ThreadEvents thread = decode_recording(some).threads.at(0);
  EXPECT_EQ(thread.dropped + static_cast<int64_t>(thread.events.size()), 1001);
  EXPECT_EQ(thread.events.back().end, 9995);
  EXPECT_THAT(error_of([] { encode_recording(recording(1000), 10); }),
              HasSubstr("RESOURCE_EXHAUSTED: worker: recording, got programs of"));
}

// Whatever arrives is a recording or DATA_LOSS.
TEST(RecordingWire, RefusesDamagedBytes) {
  const std::string good = encode_recording(recording(4), kPlenty);
  const auto check = [](const std::string& bytes) {
    const std::string error = error_of([&] { decode_recording(bytes); });
    EXPECT_TRUE(error == "no error" || error.starts_with("DATA_LOSS")) << error;
  };
  for (size_t n = 0; n < good.size(); ++n) check(good.substr(0, n));
  std::mt19937 random(1);  // NOLINT(cert-msc51-cpp): the same bytes each time
  for (size_t n = 0; n < good.size(); ++n) {
    std::string bytes = good;
    bytes[n] = static_cast<char>(random());
    check(bytes);
  }
}

// Messages between clocks `offset` apart, with delays of each direction.
ClockSample sample(int64_t at, int64_t offset, int64_t there, int64_t back) {
  const int64_t received = at + there - offset;
  return {.sent = at,
          .received = received,
          .replied = received + 50,
          .arrived = at + there + 50 + back};
}

TEST(ClockOffset, IsWrongByNoMoreThanItsError) {
  std::mt19937 random(2);  // NOLINT(cert-msc51-cpp): the same delays each time
  const auto delay = [&] { return static_cast<int64_t>(random() % 100'000); };
  for (const int64_t offset : {int64_t{0}, int64_t{7}, int64_t{-123'456'789'012}}) {
    int64_t smallest = INT64_MAX;
    std::vector<ClockSample> samples;
    for (int i = 0; i < 100; ++i) {
      const int64_t there = delay();
      const int64_t back = i % 3 == 0 ? 0 : delay();
      smallest = std::min(smallest, there + back);
      samples.push_back(sample(1'000'000'000'000 + i, offset, there, back));
      const ClockOffset found = *best_offset(samples);
      EXPECT_LE(std::abs(found.offset - offset), found.error);
      EXPECT_EQ(found.error, smallest / 2 + 1);
    }
  }
  EXPECT_FALSE(best_offset({}));
  const ClockSample backwards[] = {{.sent = 10, .received = 5, .replied = 4, .arrived = 20},
                                   {.sent = 10, .received = 0, .replied = 90, .arrived = 20}};
  EXPECT_FALSE(best_offset(backwards));
}

TEST(ClockOffset, FollowsADriftingClock) {
  const ClockLine line({.at = 1000, .offset = 50, .error = 3},
                       {.at = 3000, .offset = 70, .error = 9});
  EXPECT_EQ(line.to_ours(1000), 1050);
  EXPECT_EQ(line.to_ours(2000), 2060);
  EXPECT_EQ(line.to_ours(3000), 3070);
  EXPECT_EQ(line.to_ours(0), 50);       // before the first
  EXPECT_EQ(line.to_ours(5000), 5070);  // after the last
  EXPECT_EQ(line.error(), 9);
}

}  // namespace
}  // namespace systole::worker
