#include "systole/runtime/event.h"

#include <gtest/gtest.h>

#include <optional>
#include <thread>
#include <vector>

#include "systole/base/testing/error_of.h"

namespace systole::runtime {
namespace {

using systole::testing::error_of;

TEST(Event, IsReadyByDefault) {
  const Event event;
  EXPECT_TRUE(event.ready());
  EXPECT_EQ(event.error(), nullptr);
  event.wait();
  bool called = false;
  event.then([&](const Error* error) { called = error == nullptr; });
  EXPECT_TRUE(called);
}

TEST(Event, FollowsItsPromise) {
  Promise promise;
  const Event event = promise.event();
  EXPECT_FALSE(event.ready());
  int calls = 0;
  event.then([&](const Error*) { ++calls; });
  EXPECT_EQ(calls, 0);
  std::thread thread([&] { promise.set(); });
  event.wait();
  thread.join();
  EXPECT_TRUE(event.ready());
  event.then([&](const Error*) { ++calls; });
  EXPECT_EQ(calls, 2);
}

TEST(Event, KeepsTheFirstOutcome) {
  Promise promise;
  promise.fail(invalid_argument("first"));
  promise.set();
  promise.fail(invalid_argument("second"));
  EXPECT_EQ(error_of([&] { promise.event().wait(); }), "INVALID_ARGUMENT: first");
}

TEST(Event, FailsWhenItsPromiseIsDropped) {
  std::optional<Promise> promise(std::in_place);
  const Event event = promise->event();
  promise.reset();
  EXPECT_EQ(error_of([&] { event.wait(); }).substr(0, 9), "CANCELLED");
}

TEST(Event, JoinsOthers) {
  EXPECT_TRUE(all_of({}).ready());
  std::vector<Promise> promises(3);
  std::vector<Event> events;
  for (const Promise& promise : promises) events.push_back(promise.event());
  const Event all = all_of(events);
  promises[2].fail(invalid_argument("third"));
  promises[1].fail(invalid_argument("second"));
  EXPECT_FALSE(all.ready());
  promises[0].set();
  EXPECT_EQ(error_of([&] { all.wait(); }), "INVALID_ARGUMENT: second");
  EXPECT_EQ(error_of([&] { all_of(events).wait(); }), "INVALID_ARGUMENT: second");
}

}  // namespace
}  // namespace systole::runtime
