#include "systole/tracing/recorder.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "systole/base/thread_name.h"

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

TEST(Trace, counts_the_steps_of_a_recording) {
  EXPECT_EQ(recorded_steps(), 0);
  ASSERT_TRUE(start({.events_per_thread = 2}));
  for (int i = 0; i < 5; ++i) const Span span("step", Kind::step);
  std::thread([] { const Span span("step", Kind::step); }).join();
  EXPECT_EQ(recorded_steps(), 6);
  stop();
  ASSERT_TRUE(start());
  EXPECT_EQ(recorded_steps(), 0);
  stop();
}

TEST(Trace, keeps_runs_of_steps_as_events) {
  ASSERT_TRUE(start());
  const int64_t begin = ticks();
  const int64_t ends[] = {begin + 1000, begin + 3000, begin + 6000};
  record_steps(begin, ends, 7);
  record({.begin = begin + 1000, .end = begin + 2000, .name = "span"});
  while (ticks() < begin + 6000) {
  }
  EXPECT_TRUE(has_recorded(Kind::step));
  EXPECT_EQ(recorded_steps(), 3);
  const ThreadEvents thread = stop().threads.at(0);
  EXPECT_THAT(names_of(thread), ElementsAre("step", "span", "step", "step"));
  const Event& last = thread.events[3];
  EXPECT_EQ(last.kind, Kind::step);
  EXPECT_EQ(last.begin, thread.events[2].end);
  EXPECT_EQ(last.arg("program"), 7);
  EXPECT_EQ(last.arg("ops"), 0);

  ASSERT_TRUE(start({.events_per_thread = 4}));
  for (int64_t i = 0; i < 10; ++i) {
    const int64_t now = ticks();
    const int64_t three[] = {now + 1, now + 2, now + 3};
    record_steps(now, three, i);
    const Span span("span");
  }
  EXPECT_EQ(recorded_steps(), 30);
  const ThreadEvents some = stop().threads.at(0);
  ASSERT_EQ(some.events.size(), 4U);
  EXPECT_EQ(some.dropped, 36);
  EXPECT_EQ(some.events[2].arg("program"), 9);
  EXPECT_STREQ(some.events[3].name, "span");
}

class FakeCapture : public WorkerCapture {
 public:
  explicit FakeCapture(std::string name) : name_(std::move(name)) {}
  WorkerRecording finish(const Recording& own) override {
    EXPECT_FALSE(active());
    EXPECT_GT(own.start_steady_ns, 0);
    return {.address = name_};
  }

 private:
  std::string name_;
};

std::vector<std::string> workers_of(const Recording& recording) {
  std::vector<std::string> addresses;
  for (const WorkerRecording& worker : recording.workers) addresses.push_back(worker.address);
  return addresses;
}

TEST(Trace, starts_a_recording_of_each_worker) {
  const auto make = [](const char* name) {
    return [name]() -> std::unique_ptr<WorkerCapture> {
      if (name == nullptr) return nullptr;
      return std::make_unique<FakeCapture>(name);
    };
  };
  const WorkerSource gone("a", make(nullptr));  // the next of this address is asked
  const WorkerSource first("a", make("first"));
  const WorkerSource again("a", make("again"));
  ASSERT_TRUE(start());
  const WorkerSource late("b", make("late"));
  EXPECT_THAT(workers_of(stop()), ElementsAre("first", "late"));
  ASSERT_TRUE(start({.workers = false}));
  EXPECT_THAT(workers_of(stop()), IsEmpty());
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
