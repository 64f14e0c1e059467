// Sessions on every backend: values, state, caching, threads.
#include "systole/session/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "systole/base/log.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/random_ops.h"
#include "systole/graph/api/tpu_ops.h"
#include "systole/graph/gradients/gradients.h"
#include "systole/runtime/testing/tested_backends.h"

namespace systole {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Tensor floats(std::initializer_list<float> values) {
  return Tensor::of<float>({static_cast<int64_t>(values.size())}, values);
}

std::vector<float> values_of(const Tensor& tensor) {
  const auto data = tensor.data<float>();
  return {data.begin(), data.end()};
}

class SessionTest : public ::testing::TestWithParam<std::string> {
 protected:
  SessionConfig config() { return {.graph = &graph_, .backend = GetParam(), .entropy = 7}; }

  Graph graph_;
  GraphScope scope_{graph_};
};

TEST_P(SessionTest, RunsTensorsOperationsAndVariablesTogether) {
  const Output x = placeholder(DType::f32, {-1}, "x");
  const Variable v(2.0F, {.name = "v"});
  const Output y = multiply(x, v);
  const Operation bump = v.assign_add(1.0F);
  Session session("", config());
  session.run(global_variables_initializer());
  const std::vector<Tensor> got = session.run({y, bump, v}, {{x, floats({1, 2, 3})}});
  EXPECT_THAT(values_of(got[0]), ElementsAre(2, 4, 6));
  EXPECT_FALSE(got[1].valid());
  EXPECT_EQ(got[2].item<float>(), 2);
  EXPECT_EQ(session.run(v).item<float>(), 3);
}

TEST_P(SessionTest, FeedsAreKeptForSeveralRuns) {
  const Output x = placeholder(DType::f32, {}, "x");
  const Output y = add(x, 1.0F);
  Session session("", config());
  const FeedDict feeds = {{x, Tensor(2.0F)}};
  const std::vector<Tensor> got = session.run({y, "x:0"}, feeds);
  EXPECT_EQ(got[0].item<float>(), 3);
  EXPECT_EQ(got[1].item<float>(), 2);
  EXPECT_EQ(session.run({y}, feeds)[0].item<float>(), 3);
  EXPECT_EQ(session.run(y, feeds).item<float>(), 3);
}

TEST_P(SessionTest, FeedsNumbersVectorsAndLists) {
  const Output x = placeholder(DType::f32, {-1}, "x");
  const Output rows = placeholder(DType::f64, {-1, 2}, "rows");
  const Output n = placeholder(DType::s32, {}, "n");
  Session session("", config());
  const auto fed = [&](const FeedItem& feed) {
    return session.run(feed.key, {feed}).cast(DType::f64).to_string();
  };
  EXPECT_EQ(fed({x, std::vector<float>{1, 2}}), "f64[2] {1, 2}");
  EXPECT_EQ(fed({x, std::vector<double>{0.5, 2}}), "f64[2] {0.5, 2}");
  EXPECT_EQ(fed({x, std::vector<int>{3}}), "f64[1] {3}");
  EXPECT_EQ(fed({x, {1, 2.5, 3.0F}}), "f64[3] {1, 2.5, 3}");
  EXPECT_EQ(fed({x, {}}), "f64[0] {}");
  EXPECT_EQ(fed({rows, {{1, 2}, {3, 4}}}), "f64[2,2] {{1, 2}, {3, 4}}");
  EXPECT_EQ(fed({rows, std::vector<std::vector<float>>{{1, 2}, {3, 4}}}),
            "f64[2,2] {{1, 2}, {3, 4}}");
  EXPECT_EQ(fed({rows, {Tensor::of<double>({2}, {5, 6})}}), "f64[1,2] {{5, 6}}");
  EXPECT_EQ(fed({n, size_t{7}}), "f64[] 7");
  EXPECT_EQ(fed({n, -7}), "f64[] -7");
  const Output all = placeholder(DType::pred, {-1}, "all");
  EXPECT_TRUE(session.run(reduce_all(all), {{all, {true, true}}}).item<bool>());
  EXPECT_FALSE(session.run(reduce_all(all), {{all, std::vector<bool>{true, false}}}).item<bool>());
  const auto fed_in_full = [&](const FeedItem& feed) {
    return session.run(feed.key, {feed}).to_string();
  };
  const Output ids = placeholder(DType::s32, {-1}, "ids");
  const Output large = placeholder(DType::u64, {}, "large");
  const Output training = placeholder(DType::pred, {}, "training");
  EXPECT_EQ(fed_in_full({n, 3.0}), "s32[] 3");
  EXPECT_EQ(fed_in_full({training, 1}), "pred[] true");
  EXPECT_EQ(fed_in_full({training, 0.0}), "pred[] false");
  EXPECT_EQ(fed({x, {true, 2.5}}), "f64[2] {1, 2.5}");
  EXPECT_EQ(fed({x, std::vector<bool>{true, false}}), "f64[2] {1, 0}");
  EXPECT_EQ(fed_in_full({ids, {1, int64_t{2}, size_t{3}}}), "s32[3] {1, 2, 3}");
  EXPECT_EQ(fed_in_full({ids, std::vector<float>{1, -2}}), "s32[2] {1, -2}");
  EXPECT_EQ(fed_in_full({large, ~uint64_t{0}}), "u64[] 18446744073709551615");
  const Output whole = placeholder(DType::s64, {2, 1}, "whole");
  const FeedValue mixed{std::vector<int>{-1}, std::vector<int64_t>{int64_t{1} << 62}};
  EXPECT_EQ(fed_in_full({whole, mixed}), "s64[2,1] {{-1}, {4611686018427387904}}");
  const Output words = placeholder(DType::string, {-1}, "words");
  EXPECT_EQ(session.run(words, {{words, {"a", "b"}}}).data<std::string>()[1], "b");
}

TEST_P(SessionTest, FetchesByName) {
  add(placeholder(DType::f32, {}, "x"), 1.0F, {.name = "y"});
  Session session("", config());
  EXPECT_EQ(session.run("y:0", {{graph_.tensor("x:0"), Tensor(2.0F)}}).item<float>(), 3);
  EXPECT_FALSE(session.run("y", {{graph_.tensor("x:0"), Tensor(2.0F)}}).valid());
}

TEST_P(SessionTest, FeedsAnyTensor) {
  const Output a = constant(1.0F);
  const Output b = add(a, 1.0F);
  const Output c = multiply(b, 10.0F);
  Session session("", config());
  EXPECT_EQ(session.run(c).item<float>(), 20);
  EXPECT_EQ(session.run(c, {{b, Tensor(5.0F)}}).item<float>(), 50);
  EXPECT_EQ(session.run(b, {{b, Tensor(5.0F)}}).item<float>(), 5);
}

TEST_P(SessionTest, CompilesOnceAShapeAndSaysWhyAgain) {
  const Output x = placeholder(DType::f32, {-1}, "x");
  const Output y = reduce_sum(x);
  Session session("", config());
  const LogCapture log;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(session.run(y, {{x, floats({1, 2})}}).item<float>(), 3);
  EXPECT_EQ(session.stats().programs, 1);
  EXPECT_EQ(session.run(y, {{x, floats({1, 2, 3})}}).item<float>(), 6);
  EXPECT_EQ(session.stats().programs, 2);
  EXPECT_EQ(session.stats().runs, 4);
  EXPECT_THAT(log.messages(), Contains(HasSubstr("again because x:0 is f32[3], was f32[2]")));
}

TEST_P(SessionTest, CallableTakesShapesAsTheyCome) {
  const Output x = placeholder(DType::f32, {-1}, "x");
  Session session("", config());
  auto doubled = session.make_callable({multiply(x, 2.0F)}, {x});
  EXPECT_THAT(values_of(doubled({floats({1, 2})})[0]), ElementsAre(2, 4));
  EXPECT_THAT(values_of(doubled({floats({1, 2, 3})})[0]), ElementsAre(2, 4, 6));
  const Tensor kept = doubled({floats({4})})[0];
  EXPECT_THAT(values_of(doubled({floats({5})})[0]), ElementsAre(10));
  EXPECT_THAT(values_of(kept), ElementsAre(8));
}

TEST_P(SessionTest, CallableTakesItsOwnResults) {
  const Output x = placeholder(DType::f32, {-1}, "x");
  Session session("", config());
  auto mixed = session.make_callable({add(reverse(x, {0}), multiply(x, 2.0F))}, {x});
  std::span<const Tensor> y = mixed({floats({1, 2, 3})});
  EXPECT_THAT(values_of(y[0]), ElementsAre(5, 6, 7));
  y = mixed(y);
  EXPECT_THAT(values_of(y[0]), ElementsAre(17, 18, 19));
  EXPECT_THAT(values_of(mixed(y)[0]), ElementsAre(53, 54, 55));
  auto halves = session.make_callable({slice(x, {0}, {1})}, {x});
  y = halves({floats({7, 8})});
  EXPECT_THAT(values_of(halves(y)[0]), ElementsAre(7));
}

TEST_P(SessionTest, SessionsHaveVariablesOfTheirOwn) {
  const Variable v(1.0F);
  const Operation init = global_variables_initializer();
  const Output bump = v.assign_add(1.0F);
  Session a("", config());
  Session b("", config());
  a.run(init);
  b.run(init);
  EXPECT_EQ(a.run(bump).item<float>(), 2);
  EXPECT_EQ(a.run(bump).item<float>(), 3);
  EXPECT_EQ(b.run(bump).item<float>(), 2);
}

TEST_P(SessionTest, SavesAndRestoresVariables) {
  const Variable v(floats({1, 2}), {.name = "v"});
  Session session("", config());
  EXPECT_FALSE(session.is_initialized(v));
  session.set_variable(v, floats({5, 6}));
  EXPECT_TRUE(session.is_initialized(v));
  EXPECT_THAT(values_of(session.variable_value(v)), ElementsAre(5, 6));
  EXPECT_THAT(values_of(session.run(v)), ElementsAre(5, 6));
}

TEST_P(SessionTest, RandomOpsCountTheirOwnRuns) {
  set_random_seed(1);
  const Output a = random_uniform({4});
  const Output b = random_uniform({4});
  Session first("", config());
  const Tensor a0 = first.run(a);
  const Tensor a1 = first.run(a);
  const Tensor b0 = first.run(b);
  EXPECT_FALSE(a0.identical(a1));
  EXPECT_FALSE(a0.identical(b0));
  Session second("", config());
  EXPECT_TRUE(second.run(b).identical(b0));
  EXPECT_TRUE(second.run(a).identical(a0));
  EXPECT_TRUE(second.run(a).identical(a1));
}

TEST_P(SessionTest, RunsFromSeveralThreads) {
  const Output x = placeholder(DType::f32, {-1}, "x");
  const Variable total(0.0F);
  const Output sum = reduce_sum(multiply(x, x));
  const Operation add_one = total.assign_add(1.0F);
  Session session("", config());
  session.run(global_variables_initializer());
  const auto work = [&](float value) {
    for (int i = 0; i < 50; ++i) {
      EXPECT_EQ(session.run(sum, {{x, floats({value, value})}}).item<float>(), 2 * value * value);
      session.run(add_one);
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) threads.emplace_back(work, static_cast<float>(t));
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(session.run(total).item<float>(), 200);
}

TEST_P(SessionTest, TpuTargetHasATopologyAndSaysWhatItLeavesIdle) {
  if (GetParam() == "pjrt") GTEST_SKIP() << "a plugin has no virtual cores";
  const Output topology = tpu::initialize_system();
  const Operation shutdown = tpu::shutdown_system();
  const Variable v(1.0F, {.name = "v"});
  const Operation initialise = global_variables_initializer();
  const Output y = add(constant(1.0F), 1.0F);
  const LogCapture log;
  Session session("local", config());
  session.run({initialise});
  EXPECT_THAT(log.messages(), Not(Contains(HasSubstr("a plain graph"))));
  const tpu::Topology t = tpu::Topology::parse(session.run(topology));
  EXPECT_EQ(t.num_hosts, 1);
  EXPECT_EQ(t.num_cores(), 8);
  EXPECT_THAT(t.mesh_shape, ElementsAre(2, 2, 2));
  EXPECT_EQ(session.run(y).item<float>(), 2);
  EXPECT_EQ(session.run(y).item<float>(), 2);
  session.run(shutdown);
  const auto messages = log.messages();
  EXPECT_EQ(
      std::ranges::count_if(
          messages, [](const std::string& message) { return message.starts_with("warning: "); }),
      1);
  EXPECT_THAT(messages, Contains(HasSubstr("a plain graph runs on 1 of 8 cores")));
}

// "local:v3-32" has as many cores as a slice of that name.
TEST_P(SessionTest, TpuTargetHasTheCoresOfItsName) {
  if (GetParam() == "pjrt") GTEST_SKIP() << "a plugin has no virtual cores";
  const Output topology = tpu::initialize_system();
  const LogCapture log;
  Session session("local:v3-32", config());
  const tpu::Topology t = tpu::Topology::parse(session.run(topology));
  EXPECT_EQ(t.num_hosts, 4);
  EXPECT_EQ(t.cores_per_host, 8);
  EXPECT_THAT(t.mesh_shape, ElementsAre(8, 2, 2));
  Session few("local:4", config());
  EXPECT_EQ(tpu::Topology::parse(few.run(topology)).num_cores(), 4);
  for (const char* target : {"local:", "local:0", "local:v9-8", "local:v2-", "local:8x", "tpu"}) {
    EXPECT_THROW(Session(target, config()), Error) << target;
  }
}

TEST_P(SessionTest, TpuSystemMayStopAndStartAndKeepsVariables) {
  if (GetParam() == "pjrt") GTEST_SKIP() << "a plugin has no virtual cores";
  const Output topology = tpu::initialize_system();
  const Operation shutdown = tpu::shutdown_system();
  const Variable v(2.0F);
  const Output more = v.assign_add(1.0F);
  const LogCapture log;
  Session session("local", config());
  const std::vector<Tensor> first = session.run({topology, v.initializer()});
  EXPECT_EQ(tpu::Topology::parse(first[0]).num_cores(), 8);
  EXPECT_FALSE(first[1].valid());
  session.run(shutdown);
  EXPECT_TRUE(session.run(topology).identical(first[0]));
  EXPECT_EQ(session.run(more).item<float>(), 3);
}

// The system's ops run on the host, the rest of the same run on the device.
TEST_P(SessionTest, TpuSystemOpsStandBesideOthers) {
  if (GetParam() == "pjrt") GTEST_SKIP() << "a plugin has no virtual cores";
  const Output topology = tpu::initialize_system();
  const Output x = placeholder(DType::f32, {2}, "x");
  const Output sum = reduce_sum(x);
  const LogCapture log;
  Session session("local", config());
  const auto values = session.run({sum, topology, x}, {{x, floats({1, 2})}});
  EXPECT_EQ(values[0].item<float>(), 3);
  EXPECT_EQ(tpu::Topology::parse(values[1]).num_cores(), 8);
  EXPECT_TRUE(values[2].identical(floats({1, 2})));
  auto callable = session.make_callable({topology, sum}, {x});
  for (const float value : {1.0F, 5.0F}) {
    const std::span<const Tensor> results = callable({floats({value, value})});
    EXPECT_EQ(tpu::Topology::parse(results[0]).num_hosts, 1);
    EXPECT_EQ(results[1].item<float>(), 2 * value);
  }
}

// Another session of the same program continues with the numbers that this one would have drawn.
TEST_P(SessionTest, RandomNumbersGoOn) {
  const Output x = random_uniform({4});
  const LogCapture log;
  Session first("", config());
  first.run(x);
  const std::string state = first.random_state();
  const Tensor expected = first.run(x);
  SessionConfig other = config();
  other.entropy = 99;
  Session second("", other);
  EXPECT_FALSE(second.run(x).identical(expected));
  second.set_random_state(state);
  EXPECT_TRUE(second.run(x).identical(expected));
  for (const std::string& bad : {std::string("x"), state + "12345 1 a\n", state + "?"}) {
    EXPECT_THROW(second.set_random_state(bad), Error) << bad;
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, SessionTest,
                         ::testing::ValuesIn(runtime::testing::tested_backends()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace systole
