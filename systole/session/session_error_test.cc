// What a session says to bad input, and that it continues working.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "systole/base/testing/error_of.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/tpu_ops.h"
#include "systole/runtime/testing/tested_backends.h"
#include "systole/session/session.h"
#include "systole/session/targets/target.h"

namespace systole {
namespace {

using systole::testing::error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;

class SessionErrorTest : public ::testing::TestWithParam<std::string> {
 protected:
  // `action` fails with this text, and the session continues working.
  void expect_error(const std::function<void()>& action,
                    const ::testing::Matcher<std::string>& text) {
    EXPECT_THAT(error_of(action), text);
    EXPECT_EQ(session_.run(sum_, {{x_, ones_}}).item<float>(), 4);
  }

  Graph graph_;
  GraphScope scope_{graph_};
  Output x_ = placeholder(DType::f32, {-1, 2}, "x");
  Output sum_ = reduce_sum(x_, {.name = "sum"});
  Tensor ones_ = Tensor::full(DType::f32, {2, 2}, 1);
  Session session_{"", {.graph = &graph_, .backend = GetParam()}};
};

TEST_P(SessionErrorTest, FedShape) {
  expect_error(
      [&] {
        session_.run(sum_, {{x_, Tensor::full(DType::f32, {2, 3}, 1)}});
      },
      AllOf(
          HasSubstr("INVALID_ARGUMENT: Session.run: shape fed to 'x:0', got [2,3], expected [?,2]"),
          HasSubstr("session_error_test.cc:")));
}

TEST_P(SessionErrorTest, FedDtype) {
  expect_error(
      [&] {
        session_.run(sum_, {{x_, Tensor::full(DType::f64, {2, 2}, 1)}});
      },
      HasSubstr("INVALID_ARGUMENT: Session.run: dtype fed to 'x:0', got f64, expected f32"));
}

TEST_P(SessionErrorTest, FedValuesThatAreNoneOfTheDtype) {
  const Output small = placeholder(DType::u8, {}, "small");
  expect_error(
      [&] {
        session_.run(small, {{small, 256}});
      },
      AllOf(HasSubstr("INVALID_ARGUMENT: Session.run: value fed to 'small:0', got 256, expected "
                      "values of u8, "),
            HasSubstr("session_error_test.cc:")));
  expect_error([&] { session_.run(small, {{small, -1}}); }, HasSubstr("got -1, expected values"));
  expect_error(
      [&] {
        session_.run(small, {{small, 0.5}});
      },
      HasSubstr("value fed to 'small:0', got 0.5, expected values of u8"));
  const Output flag = placeholder(DType::pred, {}, "flag");
  expect_error(
      [&] {
        session_.run(flag, {{flag, 2}});
      },
      HasSubstr("value fed to 'flag:0', got 2, expected values of pred"));
  expect_error(
      [&] {
        session_.run(sum_, {{x_, {-1, ~uint64_t{0}}}});
      },
      HasSubstr("feed: values of a list, got -1 and others of u64, expected one dtype"));
  expect_error(
      [&] {
        session_.run(sum_, {{x_, {{1, 2}, {3}}}});
      },
      HasSubstr("feed: rows of a list, got sizes [2] and [1], expected equal ones"));
  expect_error(
      [&] {
        session_.run(sum_, {{x_, {{1, 2}, {"a", "b"}}}});
      },
      HasSubstr("feed: values of a list, got s64 and string, expected one dtype"));
}

TEST_P(SessionErrorTest, FedName) {
  expect_error(
      [&] {
        session_.run(sum_, {{graph_.tensor("X:0"), ones_}});
      },
      AllOf(HasSubstr("NOT_FOUND"), HasSubstr("'X:0'"), HasSubstr("x")));
}

TEST_P(SessionErrorTest, FedTwice) {
  expect_error(
      [&] {
        session_.run(sum_, {{x_, ones_}, {x_, ones_}});
      },
      HasSubstr("INVALID_ARGUMENT: Session.run: 'x:0' is fed twice"));
}

TEST_P(SessionErrorTest, FedNothing) {
  expect_error(
      [&] {
        session_.run(sum_, {{x_, Tensor()}});
      },
      HasSubstr("INVALID_ARGUMENT: Session.run: feed for 'x:0' is an empty Tensor"));
}

TEST_P(SessionErrorTest, MissingFeed) {
  expect_error([&] { session_.run(sum_); },
               AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("placeholder"), HasSubstr("'x'"),
                     HasSubstr("'sum:0'")));
}

TEST_P(SessionErrorTest, UninitializedVariable) {
  const Variable v(1.0F, {.name = "v"});
  expect_error([&] { session_.run(v); },
               AllOf(HasSubstr("FAILED_PRECONDITION: Attempting to use uninitialized value v"),
                     HasSubstr("run global_variables_initializer() first"),
                     HasSubstr("session_error_test.cc:")));
}

TEST_P(SessionErrorTest, FetchOfAnotherGraph) {
  Graph other;
  const GraphScope scope(other);
  const Output y = constant(1.0F, {.name = "y"});
  expect_error([&] { session_.run(y); }, HasSubstr("INVALID_ARGUMENT: Session.run: fetch 'y'"));
  expect_error(
      [&] {
        session_.run(sum_, {{x_, ones_}, {y, Tensor(1.0F)}});
      },
      HasSubstr(
          "INVALID_ARGUMENT: Session.run: feed 'y:0' is not an element of this session's graph"));
}

TEST_P(SessionErrorTest, EmptyFetch) {
  expect_error([&] { session_.run(Output()); },
               HasSubstr("INVALID_ARGUMENT: Session.run: a fetch is an empty handle"));
}

TEST_P(SessionErrorTest, IntegerDivisionByZeroChangesNoVariable) {
  const Output divisor = placeholder(DType::s32, {2}, "divisor");
  const Variable v(Tensor::of<int32_t>({2}, {10, 20}), {.name = "v"});
  const Output update = v.assign(floordiv(v, divisor, {.name = "quotient"}));
  session_.run(global_variables_initializer());
  expect_error(
      [&] {
        session_.run(update, {{divisor, Tensor::of<int32_t>({2}, {5, 0})}});
      },
      AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("Integer division by zero"),
            HasSubstr("quotient"), HasSubstr("session_error_test.cc:")));
  EXPECT_EQ(session_.run(v).data<int32_t>()[0], 10);
  EXPECT_EQ(session_.run(update, {{divisor, Tensor::of<int32_t>({2}, {5, 4})}}).data<int32_t>()[1],
            5);
}

TEST_P(SessionErrorTest, TpuOpsNeedATpu) {
  const Output topology = tpu::initialize_system();
  expect_error([&] { session_.run(topology); },
               HasSubstr("FAILED_PRECONDITION: ConfigureDistributedTPU: session target, got ''"));
  const Operation shutdown = tpu::shutdown_system();
  expect_error([&] { session_.run(shutdown); },
               HasSubstr("FAILED_PRECONDITION: ShutdownDistributedTPU: session target, got ''"));
}

TEST_P(SessionErrorTest, VariableOfAnotherType) {
  const Variable v(1.0F, {.name = "v"});
  expect_error(
      [&] { session_.set_variable(v, ones_); },
      HasSubstr(
          "INVALID_ARGUMENT: Session.set_variable: value for 'v', got f32[2,2], expected f32[]"));
}

TEST_P(SessionErrorTest, CallableArgumentCount) {
  auto callable = session_.make_callable({sum_}, {x_});
  expect_error(
      [&] { callable({}); },
      HasSubstr("INVALID_ARGUMENT: Session.Callable: number of arguments, got 0, expected 1"));
  EXPECT_EQ(callable({ones_})[0].item<float>(), 4);
}

TEST_P(SessionErrorTest, RunAfterClose) {
  auto callable = session_.make_callable({sum_}, {x_});
  session_.close();
  session_.close();
  const std::string closed = "FAILED_PRECONDITION: Session.run: Attempted to use a closed Session";
  EXPECT_THAT(error_of([&] { session_.run(sum_, {{x_, ones_}}); }), HasSubstr(closed));
  EXPECT_THAT(error_of([&] { callable({ones_}); }), HasSubstr(closed));
}

INSTANTIATE_TEST_SUITE_P(Backends, SessionErrorTest,
                         ::testing::ValuesIn(runtime::testing::tested_backends()),
                         [](const auto& info) { return info.param; });

TEST(SessionTarget, Errors) {
  EXPECT_THAT(error_of([] { Session session("grpc://10.0.0.2:8470"); }),
              AllOf(HasSubstr("UNAVAILABLE"), HasSubstr("grpc://10.0.0.2:8470")));
  EXPECT_THAT(
      error_of([] { Session session("gpu"); }),
      HasSubstr(
          "INVALID_ARGUMENT: Session: target, got 'gpu', expected '' (this machine), 'local'"));
  EXPECT_THAT(error_of([] { Session session("", {.backend = "abacus"}); }),
              AllOf(HasSubstr("NOT_FOUND"), HasSubstr("'abacus'"), HasSubstr("reference")));
  for (const char* target : {":8", "grpc:x", "local:0", "local:v9-8", "locally"}) {
    EXPECT_THAT(error_of([&] { Session session(target); }),
                HasSubstr(fmt::format("INVALID_ARGUMENT: Session: target, got '{}'", target)));
  }
}

TEST(SessionTarget, TakesRegisteredSchemes) {
  register_target_scheme({.scheme = "mine",
                          .forms = "'mine:N'",
                          .resolve = [](std::string_view target, std::string_view) {
                            Target found = resolve_target("local:2", "");
                            found.name = target;
                            return found;
                          }});
  Graph graph;
  EXPECT_EQ(Session("mine:3", {.graph = &graph}).target(), "mine:3");
  EXPECT_TRUE(has_target_scheme("mine:3"));
  EXPECT_FALSE(has_target_scheme("yours"));
  EXPECT_THAT(error_of([] { Session session("yours"); }), HasSubstr("'mine:N'"));
  EXPECT_THAT(
      error_of([] { register_target_scheme({.scheme = "local", .forms = "", .resolve = {}}); }),
      HasSubstr("ALREADY_EXISTS"));
}

TEST(SessionTarget, DescribesTheCoresOfAVirtualTpu) {
  const Target target = resolve_target("local:v3-8", "");
  EXPECT_EQ(target.environment.num_cores, 8);
  ASSERT_EQ(target.client->devices().size(), 8);
  for (const runtime::Device& device : target.client->devices()) {
    EXPECT_EQ(device.memory_bytes, 16'624'107'520);
    EXPECT_EQ(device.kind, "virtual TPU v3");
  }
  EXPECT_EQ(target.client, resolve_target("local:v3-8", "").client);
}

}  // namespace
}  // namespace systole
