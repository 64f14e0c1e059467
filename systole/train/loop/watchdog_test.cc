#include "systole/train/loop/watchdog.h"

#include <gmock/gmock.h>

#include <atomic>
#include <limits>
#include <memory>
#include <thread>

#include "systole/base/testing/error_of.h"

namespace systole::train {
namespace {

using systole::testing::error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Watchdog, passes_on_what_its_body_does) {
  for (const double limit : {0.0, 60.0, 1e10, std::numeric_limits<double>::infinity()}) {
    int runs = 0;
    run_watched(limit, "wait", [&](Heartbeat& heartbeat) {
      const Heartbeat::Visit visit(heartbeat, Heartbeat::At::launch, 0, 1);
      ++runs;
    });
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(error_of([&] {
                run_watched(limit, "wait", [](Heartbeat& heartbeat) {
                  const Heartbeat::Visit visit(heartbeat, Heartbeat::At::launch, 0, 1);
                  throw invalid_argument("input: broken");
                });
              }),
              "INVALID_ARGUMENT: input: broken");
  }
}

TEST(Watchdog, one_thread_takes_one_call_after_the_other) {
  for (const double limit : {0.0, 60.0}) {
    WatchedThread thread(limit, "wait");
    std::vector<std::thread::id> threads;
    const auto kept = std::make_shared<int>(0);
    for (int call = 0; call < 3; ++call) {
      thread.run([&threads, kept](Heartbeat&) { threads.push_back(std::this_thread::get_id()); });
      EXPECT_EQ(kept.use_count(), 1) << "nothing is held after a call";
      EXPECT_EQ(error_of([&] {
                  thread.run([](Heartbeat&) { throw invalid_argument("input: broken"); });
                }),
                "INVALID_ARGUMENT: input: broken");
    }
    EXPECT_EQ(threads[0] == std::this_thread::get_id(), limit == 0);
    EXPECT_EQ(threads, std::vector(3, threads[0]));
  }
}

TEST(Watchdog, a_thread_that_hangs_is_replaced) {
  const auto released = std::make_shared<std::atomic<bool>>(false);
  WatchedThread thread(0.05, "wait");
  EXPECT_THAT(error_of([&] {
                thread.run([released](Heartbeat& heartbeat) {
                  const Heartbeat::Visit visit(heartbeat, Heartbeat::At::launch, 0, 1);
                  while (!*released) std::this_thread::yield();
                });
              }),
              HasSubstr("DEADLINE_EXCEEDED: device: "));
  bool ran = false;
  thread.run([&](Heartbeat&) { ran = true; });
  EXPECT_TRUE(ran);
  *released = true;
}

TEST(Watchdog, launches_have_as_long_as_their_steps_take) {
  const Heartbeat heartbeat(30);
  EXPECT_EQ(heartbeat.launch_seconds(4, 0), 120) << "nobody knows";
  EXPECT_EQ(heartbeat.launch_seconds(4, 0.5), 30 + 10 * 2);
}

TEST(Watchdog, a_body_may_take_its_time_elsewhere_and_where_it_says_so) {
  bool ended = false;
  run_watched(0.02, "wait", [&](Heartbeat& heartbeat) {
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    const Heartbeat::Visit visit(heartbeat, Heartbeat::At::launch, 0, 1, 60);
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    ended = true;
  });
  EXPECT_TRUE(ended);
}

TEST(Watchdog, what_hangs_is_named_and_does_nothing_more) {
  struct Shared {
    std::atomic<bool> released = false;
    std::atomic<bool> back = false;
    std::atomic<bool> went_on = false;
  };
  using Visit = std::unique_ptr<Heartbeat::Visit>;
  using MakeVisit = std::function<Visit(Heartbeat&)>;
  const auto at = [](Heartbeat::At where) -> MakeVisit {
    return [where](Heartbeat& heartbeat) {
      return std::make_unique<Heartbeat::Visit>(heartbeat, where, 4, 8);
    };
  };
  const auto in = [](const char* function, int64_t first, int64_t last) -> MakeVisit {
    return [=](Heartbeat& heartbeat) {
      return std::make_unique<Heartbeat::Visit>(heartbeat, function, first, last);
    };
  };
  const std::vector<std::pair<MakeVisit, std::string>> cases = {
      {in("make_input", 0, 0), "make_input: call, got no result in "},
      {at(Heartbeat::At::input), "input: batches for steps 5 to 8, got none in "},
      {at(Heartbeat::At::position), "input: position after step 8, got none in "},
      {at(Heartbeat::At::launch), "device: steps 5 to 8, got no result of their launch in "},
      {in("on_steps", 4, 8), "on_steps: steps 5 to 8, got no result in "}};
  for (const auto& [make_visit, what] : cases) {
    const auto shared = std::make_shared<Shared>();
    EXPECT_THAT(error_of([&, make = make_visit] {
                  run_watched(0.05, "Config.wait", [shared, make](Heartbeat& heartbeat) {
                    {
                      const Visit visit = make(heartbeat);
                      while (!shared->released) std::this_thread::yield();
                      shared->back = true;
                    }
                    shared->went_on = true;
                  });
                }),
                AllOf(HasSubstr("DEADLINE_EXCEEDED: " + what),
                      HasSubstr("expected one in 0.05 s (Config.wait = 0.05)")));
    shared->released = true;
    while (!shared->back) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(shared->went_on);
  }
}

}  // namespace
}  // namespace systole::train
