#include "systole/graph/api/debugging_ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/control_flow_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/gradient_override.h"
#include "systole/graph/core/variable.h"
#include "systole/graph/gradients/custom_gradient.h"
#include "systole/graph/gradients/gradients.h"
#include "systole/graph/testing/debugging_op_cases.h"
#include "systole/graph/testing/mini_session.h"

namespace systole {
namespace {

using graph_testing::error_of;
using graph_testing::MiniSession;
using graph_testing::OpCase;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(DebuggingOps, Table) {
  for (const OpCase& row : graph_testing::debugging_op_cases()) check_op(row);
}

struct AssertionRow {
  std::string name;
  std::function<Operation(const Output& x)> build;
  std::vector<float> holds;
  std::vector<float> fails;
};

const AssertionRow kAssertions[] = {
    {"== 2.0", [](auto& x) { return assert_equal(x, 2.0F); }, {2, 2}, {2, 3}},
    {"!= 2.0", [](auto& x) { return assert_none_equal(x, 2.0F); }, {1, 3}, {2, 3}},
    {"< 2.0", [](auto& x) { return assert_less(x, 2.0F); }, {1, 1.5}, {1, 2}},
    {"<= 2.0", [](auto& x) { return assert_less_equal(x, 2.0F); }, {1, 2}, {1, 2.5}},
    {"> 2.0", [](auto& x) { return assert_greater(x, 2.0F); }, {3, 4}, {3, 2}},
    {">= 2.0", [](auto& x) { return assert_greater_equal(x, 2.0F); }, {3, 2}, {3, 1}},
    {"> 0", [](auto& x) { return assert_positive(x); }, {1, 2}, {1, 0}},
    {"< 0", [](auto& x) { return assert_negative(x); }, {-1, -2}, {-1, 0}},
    {"<= 0", [](auto& x) { return assert_non_positive(x); }, {-1, 0}, {0, 1}},
    {">= 0", [](auto& x) { return assert_non_negative(x); }, {1, 0}, {0, -1}},
    {"<= 0.5",
     [](auto& x) { return assert_near(x, 2.0F, {.rtol = 0.0, .atol = 0.5}); },
     {2.5, 1.5},
     {2, 2.6F}},
};

TEST(DebuggingOps, AssertionsFailARunAndChangeNothing) {
  for (const AssertionRow& row : kAssertions) {
    SCOPED_TRACE(row.name);
    Graph graph;
    const GraphScope scope(graph);
    const Output x = placeholder(DType::f32, {2}, "x");
    const Variable count(0.0F);
    const Operation assertion = row.build(x);
    const ControlDependencies after({assertion});
    const Output counted = count.assign_add(1.0F);
    MiniSession session;
    session.run(count.initializer());
    session.run(counted, {{x, Tensor::of<float>({2}, row.holds)}});
    EXPECT_THAT(error_of([&] {
                  session.run(counted, {{x, Tensor::of<float>({2}, row.fails)}});
                }),
                AllOf(HasSubstr("INVALID_ARGUMENT: Assert: assertion failed: "),
                      HasSubstr("expected "), HasSubstr("x:0"), HasSubstr(row.name.substr(0, 2)),
                      HasSubstr("debugging_ops_test.cc:")));
    EXPECT_EQ(session.run(count.value()).item<float>(), 1);
  }
}

TEST(DebuggingOps, AnAssertionInABodyNeedsNoDependency) {
  Graph graph;
  const GraphScope scope(graph);
  const Output limit = placeholder(DType::s32, {}, "limit");
  const Output n = while_loop([&](auto& v) { return less(v[0], limit); },
                              [](auto& v) {
                                assert_less(v[0], 5, {.message = "at most five"});
                                return std::vector{add(v[0], 1)};
                              },
                              {0})[0];
  MiniSession session;
  EXPECT_EQ(session.run(n, {{limit, Tensor(5)}}).item<int32_t>(), 5);
  EXPECT_THAT(error_of([&] {
                session.run(n, {{limit, Tensor(6)}});
              }),
              HasSubstr("assertion failed: at most five: assert_less"));
}

TEST(DebuggingOps, CheckNumericsTellsWhat) {
  Graph graph;
  const GraphScope scope(graph);
  const Output x = placeholder(DType::f32, {2}, "x");
  const Output y = check_numerics(x, "the loss");
  MiniSession session;
  const auto run = [&](float value) {
    return error_of([&] { session.run(y, {{x, Tensor::of<float>({2}, {1, value})}}); });
  };
  EXPECT_EQ(run(3), "no error");
  EXPECT_THAT(run(std::numeric_limits<float>::quiet_NaN()),
              HasSubstr("CheckNumerics: the loss: Tensor had NaN values, node 'CheckNumerics'"));
  EXPECT_THAT(run(-std::numeric_limits<float>::infinity()),
              HasSubstr("CheckNumerics: the loss: Tensor had Inf values"));
}

TEST(DebuggingOps, CheckNumericsLooksAtTheGradient) {
  Graph graph;
  const GraphScope scope(graph);
  const Output x = placeholder(DType::f32, {}, "x");
  const Output slope = gradients({sqrt(check_numerics(x, "under the root"))}, {x})[0];
  MiniSession session;
  EXPECT_EQ(session.run(slope, {{x, Tensor(4.0F)}}).item<float>(), 0.25F);
  EXPECT_THAT(error_of([&] {
                session.run(slope, {{x, Tensor(0.0F)}});
              }),
              AllOf(HasSubstr("detected in gradient. under the root"), HasSubstr("Inf")));
}

TEST(DebuggingOps, AllTensorsAreCheckedInTheOrderOfBuilding) {
  Graph graph;
  const GraphScope scope(graph);
  const Output x = placeholder(DType::f32, {}, "x");
  const Output quotient = realdiv(1.0F, x, {.name = "quotient"});
  multiply(quotient, 0.0F, {.name = "product"});
  const Operation check = add_check_numerics_ops();
  MiniSession session;
  session.run(check, {{x, Tensor(1.0F)}});
  EXPECT_THAT(error_of([&] {
                session.run(check, {{x, Tensor(0.0F)}});
              }),
              HasSubstr("CheckNumerics: quotient:0: Tensor had Inf values"));
}

// What comes after a change of a variable is left alone: checking it would make the change.
TEST(DebuggingOps, CheckingAllTensorsChangesNoVariable) {
  Graph graph;
  const GraphScope scope(graph);
  const Variable count(0.0F);
  const Output counted = count.assign_add(1.0F);
  const Output after = multiply(counted, 2.0F);
  {
    const ControlDependencies behind({after});
    realdiv(1.0F, 3.0F);
  }
  const Output read = count.value() * 2.0F;
  const Operation check = add_check_numerics_ops();
  MiniSession session;
  session.run(count.initializer());
  session.run(check);
  EXPECT_EQ(session.run(read).item<float>(), 0);
}

TEST(DebuggingOps, ABranchThatIsNotTakenMayAlwaysFail) {
  Graph graph;
  const GraphScope scope(graph);
  const Output x = placeholder(DType::f32, {}, "x");
  const Output y = cond(
      greater(x, 0.0F), [&] { return x * 2.0F; },
      [&] {
        assert_op(false, {.message = "x must be positive"});
        return x;
      });
  MiniSession session;
  EXPECT_EQ(session.run(y, {{x, Tensor(2.0F)}}).item<float>(), 4);
  EXPECT_THAT(error_of([&] {
                session.run(y, {{x, Tensor(-1.0F)}});
              }),
              HasSubstr("assertion failed: x must be positive"));
}

TEST(CustomGradient, WhatItsGradientWaitsForIsTested) {
  Graph graph;
  const GraphScope scope(graph);
  const Output x = placeholder(DType::f32, {}, "x");
  const auto halved = custom_gradient([](const Output& v) {
    return CustomGradient{v * 0.5F, [](const Output& dy) {
                            const ControlDependencies after({assert_less(dy, 5.0F)});
                            return dy * 0.5F;
                          }};
  });
  const Output slope = gradients({halved(x) * x}, {x})[0];
  MiniSession session;
  EXPECT_EQ(session.run(slope, {{x, Tensor(2.0F)}}).item<float>(), 2);
  EXPECT_THAT(error_of([&] {
                session.run(slope, {{x, Tensor(8.0F)}});
              }),
              HasSubstr("assertion failed: assert_less"));
}

TEST(CustomGradient, AnOverrideByAnOpWithOtherInputsIsTold) {
  Graph graph;
  const GraphScope scope(graph);
  const Output x = placeholder(DType::f32, {2, 2}, "x");
  for (const char* other : {"Mul", "MatMul", "Select"}) {
    const GradientOverrideMap map({{"Exp", other}});
    const Output y = exp(x);
    EXPECT_THAT(error_of([&] { gradients({y}, {x}); }),
                AllOf(HasSubstr(std::string("gradients: ") + other + " in place of Exp, got "),
                      HasSubstr("expected an op with such inputs and attributes, node 'Exp")));
  }
}

TEST(CustomGradient, RegisteredGradientsAreUsedWhereAMapSaysSo) {
  register_gradient("DebuggingOpsTestGuidedRelu", [](Node& op, const std::vector<Output>& grads) {
    return std::vector{where_v2(logical_and(grads[0] > 0.0F, op.output(0) > 0.0F), grads[0], 0.0F)};
  });
  EXPECT_THAT(error_of([] {
                register_gradient("DebuggingOpsTestGuidedRelu",
                                  [](Node&, const std::vector<Output>& grads) { return grads; });
              }),
              HasSubstr("ALREADY_EXISTS: register_gradient: name, got"));
  EXPECT_THAT(error_of([] { register_gradient("DebuggingOpsTestNone", nullptr); }),
              HasSubstr("register_gradient: gradient of 'DebuggingOpsTestNone', got none"));
  Graph graph;
  const GraphScope scope(graph);
  const Output x = placeholder(DType::f32, {3}, "x");
  const Output weights = constant(Tensor::of<float>({3}, {-1, -1, 2}));
  Output guided;
  {
    const GradientOverrideMap map({{"Relu", "DebuggingOpsTestGuidedRelu"}});
    guided = relu(x);
  }
  const Output plain = relu(x);
  MiniSession session;
  const Tensor value = Tensor::of<float>({3}, {1, -1, 1});
  const auto slope = [&](const Output& y) {
    return session.run(gradients({y * weights}, {x})[0], {{x, value}}).to_string();
  };
  EXPECT_EQ(slope(guided), Tensor::of<float>({3}, {0, 0, 2}).to_string());
  EXPECT_EQ(slope(plain), Tensor::of<float>({3}, {-1, 0, 2}).to_string());
}

TEST(CustomGradient, ARegisteredGradientOfTheWrongTypeIsTold) {
  register_gradient("DebuggingOpsTestSum", [](Node&, const std::vector<Output>& grads) {
    return std::vector{reduce_sum(grads[0])};
  });
  Graph graph;
  const GraphScope scope(graph);
  const Output x = placeholder(DType::f32, {3}, "x");
  const GradientOverrideMap map({{"Exp", "DebuggingOpsTestSum"}});
  const Output y = exp(x);
  EXPECT_THAT(error_of([&] { gradients({y}, {x}); }),
              HasSubstr("gradients: 'DebuggingOpsTestSum' for input 0, got f32[], expected f32[3], "
                        "node 'Exp' at debugging_ops_test.cc:"));
}

}  // namespace
}  // namespace systole
