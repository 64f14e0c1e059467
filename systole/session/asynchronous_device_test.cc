// Sessions on a device that works on its own: a FakeClient over the reference backend. All tests of
// sessions run on it, too, since it is registered here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <optional>

#include "systole/base/testing/error_of.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/runtime/registry.h"
#include "systole/runtime/testing/fake_client.h"
#include "systole/session/session.h"
#include "systole/session/step_loop.h"

namespace systole {
namespace {

using runtime::testing::FakeClient;
using systole::testing::error_of;
using ::testing::HasSubstr;

// Set: the next launch fails while it runs.
std::atomic<bool> next_launch_fails{false};  // NOLINT(*-avoid-non-const-global-variables)

// Before the tests of all backends are listed.
const bool kRegistered = [] {
  runtime::testing::register_fake_backend();
  return true;
}();

std::unique_ptr<runtime::Client> make_fragile_client(const runtime::ClientOptions&) {
  const auto fail = [](runtime::testing::FakeCall call, int64_t) -> std::optional<Error> {
    const bool fails = call == runtime::testing::FakeCall::run && next_launch_fails.exchange(false);
    if (!fails) return std::nullopt;
    return make_error(Code::unavailable, "the wire broke");
  };
  return std::make_unique<FakeClient>(runtime::client("reference"),
                                      runtime::testing::FakeClientOptions{.fail = fail});
}

// The backend whose launches next_launch_fails lets fail.
std::string fragile_backend() {
  static std::once_flag once;
  std::call_once(once, [] {
    runtime::register_backend({.name = "fragile", .options = {}, .make = make_fragile_client});
  });
  return "fragile";
}
// Adds its input to `total`, and fetches the sum before and after.
struct Adding {
  explicit Adding(const std::string& backend) {
    session.emplace("", SessionConfig{.graph = &graph, .backend = backend});
    session->run(global_variables_initializer());
    loop.emplace(*session, StepLoopOptions{.inputs = {x},
                                           .input_types = {x.type()},
                                           .fetches = {before},
                                           .targets = {train},
                                           .max_steps = 3});
  }
  static FakeClient& client(const std::string& backend) {
    return static_cast<FakeClient&>(runtime::client(backend));
  }
  StepLoop::Launch launch(float value) {
    return loop->launch({{Tensor::full(DType::f32, {1, 3}, value)}}, 3);
  }

  Graph graph;
  GraphScope scope{graph};
  Output x = placeholder(DType::f32, {}, "x");
  Variable total{Tensor(0.0F), {.name = "total"}};
  Output before = multiply(total.value(), 1.0F);
  Operation train = total.assign_add(x);
  std::optional<Session> session;
  std::optional<StepLoop> loop;
};

TEST(AsynchronousDevice, TakesTheNextLaunchWhileOneRuns) {
  ASSERT_TRUE(kRegistered);
  Adding adding("fake");
  FakeClient& client = Adding::client("fake");
  client.hold();
  StepLoop::Launch first = adding.launch(1);
  StepLoop::Launch second = adding.launch(10);
  EXPECT_FALSE(first.ready());
  EXPECT_FALSE(second.ready());
  client.release();
  EXPECT_EQ(second.results()[0].as_double(0), 23);
  EXPECT_EQ(first.results()[0].as_double(0), 2) << "each launch has its own results";
  EXPECT_EQ(adding.session->variable_value(adding.total).item<float>(), 33);
  adding.loop->run({{Tensor::full(DType::f32, {1, 3}, 1)}}, 2);
  EXPECT_EQ(adding.loop->results()[0].as_double(0), 34);
}

TEST(AsynchronousDevice, KeepsASnapshotOfAPendingValue) {
  Adding adding("fake");
  FakeClient& client = Adding::client("fake");
  client.hold();
  const StepLoop::Launch first = adding.launch(1);
  const VariableSnapshot snapshot = StepLoop::snapshot(*adding.session, {{adding.total}});
  const StepLoop::Launch second = adding.launch(10);
  client.release();
  EXPECT_EQ(snapshot.value(0).item<float>(), 3);
  EXPECT_EQ(adding.session->variable_value(adding.total).item<float>(), 33);
}

TEST(AsynchronousDevice, TellsOfALaunchThatFailedUntilItsVariablesAreSet) {
  Adding adding(fragile_backend());
  FakeClient& client = Adding::client("fragile");
  client.hold();
  next_launch_fails = true;
  StepLoop::Launch first = adding.launch(1);
  StepLoop::Launch second = adding.launch(10);
  client.release();
  EXPECT_EQ(error_of([&] { second.results(); }), "UNAVAILABLE: the wire broke");
  EXPECT_EQ(error_of([&] { first.results(); }), "UNAVAILABLE: the wire broke");
  EXPECT_THAT(error_of([&] { adding.session->variable_value(adding.total); }),
              HasSubstr("the wire broke"));
  EXPECT_THAT(error_of([&] { adding.session->run(adding.total); }), HasSubstr("the wire broke"));
  adding.session->set_variable(adding.total, Tensor(5.0F));
  EXPECT_EQ(adding.launch(1).results()[0].as_double(0), 7);
}

TEST(AsynchronousDevice, FailsTheRunThatWaits) {
  Adding adding(fragile_backend());
  next_launch_fails = true;
  EXPECT_EQ(error_of([&] { adding.session->run(adding.before); }), "UNAVAILABLE: the wire broke");
  EXPECT_EQ(adding.session->run(adding.before).item<float>(), 0);
}

}  // namespace
}  // namespace systole
