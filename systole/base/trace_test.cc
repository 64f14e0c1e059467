#include "systole/base/trace.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace systole::tracing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> names_of(const ThreadEvents& thread) {
  std::vector<std::string> names;
  for (const Event& event : thread.events) names.emplace_back(event.name);
  return names;
}

TEST(Trace, records_nested_spans_of_each_thread_with_arguments) {
  { const Span before("before"); }
  ASSERT_TRUE(start());
  EXPECT_FALSE(start());  // one at a time
  EXPECT_FALSE(has_recorded(Kind::launch));
  {
    const Span outer("outer", Kind::launch, {"steps", 3});
    const Span inner(intern(std::string("in") + "ner"), Kind::host);
  }
  std::thread([] {
    name_thread("helper");
    const Span span("other", Kind::input);
  }).join();
  EXPECT_TRUE(has_recorded(Kind::launch));
  const Recording recording = stop();
  { const Span after("after"); }

  ASSERT_EQ(recording.threads.size(), 2U);
  EXPECT_THAT(names_of(recording.threads[0]), ElementsAre("inner", "outer"));
  const Event& inner = recording.threads[0].events[0];
  const Event& outer = recording.threads[0].events[1];
  EXPECT_EQ(outer.arg("steps"), 3);
  EXPECT_EQ(outer.arg("none", 7), 7);
  EXPECT_LE(outer.begin, inner.begin);
  EXPECT_GE(outer.end, inner.end);
  EXPECT_LE(outer.end, recording.duration_ns);
  EXPECT_EQ(recording.threads[1].name, "helper");
  EXPECT_FALSE(active());
  ASSERT_TRUE(start());
  EXPECT_THAT(stop().threads, IsEmpty());
}

TEST(Trace, keeps_the_newest_events_and_counts_the_others) {
  ASSERT_TRUE(start({.events_per_thread = 3}));
  for (const char* name : {"1", "2", "3", "4", "5"}) const Span span(name);
  const Recording recording = stop();
  ASSERT_EQ(recording.threads.size(), 1U);
  EXPECT_THAT(names_of(recording.threads[0]), ElementsAre("3", "4", "5"));
  EXPECT_EQ(recording.threads[0].dropped, 2);
}

TEST(Trace, a_recording_has_the_input_counters_of_its_time_alone) {
  int64_t elements = 10;
  const auto read = [&] {
    return std::vector<Stage>{{.name = "map", .elements = elements, .busy_seconds = 1}};
  };
  InputSource lasting(read);
  ASSERT_TRUE(start());
  {
    InputSource ended([&] { return std::vector<Stage>{{.name = "batch", .elements = elements}}; });
    elements = 14;
  }
  const Recording recording = stop();
  ASSERT_EQ(recording.inputs.size(), 2U);
  EXPECT_EQ(recording.inputs[0][0].name, "batch");
  EXPECT_EQ(recording.inputs[1][0].elements, 4);
  EXPECT_EQ(recording.inputs[1][0].busy_seconds, 0);
}

// For the thread sanitizer, above all.
TEST(Trace, threads_may_record_while_recordings_start_and_stop) {
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      while (!done) const Span span("work", Kind::other, {"a", 1});
    });
  }
  int64_t events = 0;
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(start({.events_per_thread = 100}));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    for (const ThreadEvents& thread : stop().threads) {
      for (const Event& event : thread.events) {
        EXPECT_LE(event.begin, event.end);
        ++events;
      }
    }
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(events, 0);
}

TEST(Trace, ticks_have_the_rate_that_is_given) {
  const double scale = nanoseconds_per_tick();  // measures it
  const auto before = std::chrono::steady_clock::now();
  const int64_t begin = ticks();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const int64_t end = ticks();
  const std::chrono::duration<double, std::nano> real = std::chrono::steady_clock::now() - before;
  EXPECT_NEAR(static_cast<double>(end - begin) * scale / real.count(), 1, 0.05);
}

}  // namespace
}  // namespace systole::tracing
