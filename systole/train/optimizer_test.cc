// Optimizers against the update rules written out on doubles, and what apply_gradients promises.
#include "systole/train/optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <memory>

#include "systole/base/testing/error_of.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/session/session.h"

namespace systole {
namespace {

using systole::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Per-element state of one variable, and its rule.
struct Scalar {
  double var;
  double a = 0, b = 0, c = 0;
};
using Rule = std::function<void(Scalar&, double gradient, int step)>;

struct OptimizerCase {
  std::string name;
  std::function<std::unique_ptr<Optimizer>()> make;
  Scalar initial;
  Rule rule;
  std::vector<std::string> slots;  // variables made for one called "w"
};

std::vector<OptimizerCase> momentum_cases() {
  return {{"GradientDescent",
           [] { return std::make_unique<GradientDescentOptimizer>(0.1); },
           {},
           [](Scalar& s, double g, int) { s.var -= 0.1 * g; },
           {}},
          {"Momentum",
           [] { return std::make_unique<MomentumOptimizer>(0.1, 0.9); },
           {},
           [](Scalar& s, double g, int) {
             s.a = 0.9 * s.a + g;
             s.var -= 0.1 * s.a;
           },
           {"w/Momentum"}},
          {"Nesterov",
           [] {
             return std::make_unique<MomentumOptimizer>(0.1, 0.9,
                                                        MomentumOptions{.use_nesterov = true});
           },
           {},
           [](Scalar& s, double g, int) {
             s.a = 0.9 * s.a + g;
             s.var -= 0.1 * (g + 0.9 * s.a);
           },
           {"w/Momentum"}}};
}

std::vector<OptimizerCase> adaptive_cases() {
  return {
      {"Adagrad",
       [] { return std::make_unique<AdagradOptimizer>(0.1); },
       {.var = 0, .a = 0.1},
       [](Scalar& s, double g, int) {
         s.a += g * g;
         s.var -= 0.1 * g / std::sqrt(s.a);
       },
       {"w/Adagrad"}},
      {"Adadelta",
       [] { return std::make_unique<AdadeltaOptimizer>(0.5); },
       {},
       [](Scalar& s, double g, int) {
         s.a += 0.05 * (g * g - s.a);
         const double update = g * std::sqrt((s.b + 1e-8) / (s.a + 1e-8));
         s.b += 0.05 * (update * update - s.b);
         s.var -= 0.5 * update;
       },
       {"w/Adadelta", "w/Adadelta_1"}},
      {"Ftrl",
       [] {
         return std::make_unique<FtrlOptimizer>(0.1,
                                                FtrlOptions{.l1_regularization_strength = 0.01});
       },
       {.var = 0, .a = 0.1},
       [](Scalar& s, double g, int) {
         const double before = std::sqrt(s.a);
         s.a += g * g;
         s.b += g - (std::sqrt(s.a) - before) / 0.1 * s.var;
         const double beyond = s.b > 0 ? 0.01 - s.b : -0.01 - s.b;
         s.var = std::abs(s.b) > 0.01 ? beyond / (std::sqrt(s.a) / 0.1) : 0;
       },
       {"w/Ftrl", "w/Ftrl_1"}},
  };
}

std::vector<OptimizerCase> moment_cases() {
  return {
      {"Adam",
       [] { return std::make_unique<AdamOptimizer>(0.1); },
       {},
       [](Scalar& s, double g, int step) {
         s.a += 0.1 * (g - s.a);
         s.b += 0.001 * (g * g - s.b);
         const double rate = 0.1 * std::sqrt(1 - std::pow(0.999, step)) / (1 - std::pow(0.9, step));
         s.var -= rate * s.a / (std::sqrt(s.b) + 1e-8);
       },
       {"beta1_power", "beta2_power", "w/Adam", "w/Adam_1"}},
      {"AdamOfOptions",
       [] { return std::make_unique<AdamOptimizer>(0.2, AdamOptions{.beta1 = 0.5}); },
       {},
       [](Scalar& s, double g, int step) {
         s.a += 0.5 * (g - s.a);
         s.b += 0.001 * (g * g - s.b);
         const double rate = 0.2 * std::sqrt(1 - std::pow(0.999, step)) / (1 - std::pow(0.5, step));
         s.var -= rate * s.a / (std::sqrt(s.b) + 1e-8);
       },
       {"beta1_power", "beta2_power", "w/Adam", "w/Adam_1"}},
      {"RMSProp",
       [] { return std::make_unique<RMSPropOptimizer>(0.1, RMSPropOptions{.momentum = 0.5}); },
       {.var = 0, .a = 1},
       [](Scalar& s, double g, int) {
         s.a += 0.1 * (g * g - s.a);
         s.b = 0.5 * s.b + 0.1 * g / std::sqrt(s.a + 1e-10);
         s.var -= s.b;
       },
       {"w/RMSProp", "w/RMSProp_1"}},
      {"RMSPropCentered",
       [] { return std::make_unique<RMSPropOptimizer>(0.1, RMSPropOptions{.centered = true}); },
       {.var = 0, .a = 1},
       [](Scalar& s, double g, int) {
         s.a += 0.1 * (g * g - s.a);
         s.c += 0.1 * (g - s.c);
         s.b = 0.1 * g / std::sqrt(s.a - s.c * s.c + 1e-10);
         s.var -= s.b;
       },
       {"w/RMSProp", "w/RMSProp_1", "w/RMSProp_2"}},
  };
}

std::vector<OptimizerCase> optimizer_cases() {
  std::vector<OptimizerCase> cases = momentum_cases();
  std::ranges::move(adaptive_cases(), std::back_inserter(cases));
  std::ranges::move(moment_cases(), std::back_inserter(cases));
  return cases;
}

class OptimizerRuleTest : public ::testing::TestWithParam<OptimizerCase> {};

// loss = sum(w^2 * scale) in f64, so that the gradient is 2 * scale * w.
TEST_P(OptimizerRuleTest, FollowsTheRule) {
  Graph graph;
  const GraphScope scope(graph);
  const std::vector<double> start = {1.0, -2.0, 0.5};
  const std::vector<double> scale = {1.0, 0.25, 3.0};
  const Variable w(Tensor::of<double>({3}, start), {.name = "w"});
  const Output loss = reduce_sum(multiply(square(w), Tensor::of<double>({3}, scale)));
  const auto optimizer = GetParam().make();
  const Operation train = optimizer->minimize(loss);
  Session session("", {.graph = &graph});
  session.run(global_variables_initializer());

  std::vector<Scalar> expected(3, GetParam().initial);
  for (size_t i = 0; i < 3; ++i) expected[i].var = start[i];
  for (int step = 1; step <= 5; ++step) {
    session.run(train);
    const Tensor now = session.run(w);
    for (size_t i = 0; i < 3; ++i) {
      GetParam().rule(expected[i], 2 * scale[i] * expected[i].var, step);
      EXPECT_NEAR(now.data<double>()[i], expected[i].var, 1e-9)
          << "step " << step << ", element " << i;
    }
  }
}

TEST_P(OptimizerRuleTest, NamesSlotsAsTensorFlowDoes) {
  Graph graph;
  const GraphScope scope(graph);
  const NameScope model(
      "model/");  // slots are named by their variable, not by the scope of the call
  const Variable w(1.0F, {.name = "w"});
  const auto optimizer = GetParam().make();
  optimizer->minimize(square(w));
  std::vector<std::string> names;
  for (const Variable& variable : optimizer->variables()) names.push_back(variable.name());
  std::vector<std::string> expected = GetParam().slots;
  for (std::string& name : expected) {
    if (name.starts_with("w/")) name.insert(0, "model/");
  }
  EXPECT_EQ(names, expected);
}

INSTANTIATE_TEST_SUITE_P(All, OptimizerRuleTest, ::testing::ValuesIn(optimizer_cases()),
                         [](const auto& info) { return info.param.name; });

class OptimizerTest : public ::testing::Test {
 protected:
  Graph graph_;
  GraphScope scope_{graph_};
};

TEST_F(OptimizerTest, CountsTheGlobalStep) {
  const Variable w(1.0F);
  const Variable step = get_or_create_global_step();
  const Operation train = GradientDescentOptimizer(0.1).minimize(square(w), {.global_step = step});
  Session session("", {.graph = &graph_});
  session.run(global_variables_initializer());
  for (int i = 0; i < 3; ++i) session.run(train);
  EXPECT_EQ(session.run(step).item<int64_t>(), 3);
}

// Where no gradient came yet all is 0, the curvature too: 4^2 to the power of 0.75 is 8.
TEST_F(OptimizerTest, FtrlMayBeginWithNothing) {
  const Output gradient = placeholder(DType::f32, {2}, "gradient");
  const Variable w(Tensor::of<float>({2}, {0, 0}));
  FtrlOptimizer optimizer(0.5, {.learning_rate_power = -0.75, .initial_accumulator_value = 0});
  const Operation train = optimizer.minimize(reduce_sum(multiply(w, gradient)));
  Session session("", {.graph = &graph_});
  session.run(global_variables_initializer());
  session.run(train, {{gradient, Tensor::of<float>({2}, {0, 4})}});
  EXPECT_EQ(session.run(w).data<float>()[0], 0);
  EXPECT_FLOAT_EQ(session.run(w).data<float>()[1], -4 / (8 / 0.5F));
}

TEST_F(OptimizerTest, LearningRateMayBeATensor) {
  const Output rate = placeholder(DType::f32, {}, "rate");
  const Variable w(1.0F);
  const Operation train = GradientDescentOptimizer(rate).minimize(multiply(w, 1.0F));
  Session session("", {.graph = &graph_});
  session.run(global_variables_initializer());
  session.run(train, {{rate, Tensor(0.25F)}});
  EXPECT_EQ(session.run(w).item<float>(), 0.75F);
}

TEST_F(OptimizerTest, LeavesOtherVariablesAlone) {
  const Variable used(1.0F, {.name = "used"});
  const Variable unused(1.0F, {.name = "unused"});
  const Variable frozen(1.0F, {.name = "frozen", .trainable = false});
  GradientDescentOptimizer optimizer(0.5);
  const auto grads = optimizer.compute_gradients(multiply(used, frozen));
  ASSERT_EQ(grads.size(), 2U);
  EXPECT_TRUE(grads[0].gradient.valid());
  EXPECT_FALSE(grads[1].gradient.valid());
  const Operation train = optimizer.apply_gradients(grads);
  Session session("", {.graph = &graph_});
  session.run(global_variables_initializer());
  session.run(train);
  EXPECT_EQ(session.run(used).item<float>(), 0.5F);
  EXPECT_EQ(session.run(unused).item<float>(), 1);
}

TEST_F(OptimizerTest, Errors) {
  const Output x = placeholder(DType::f32, {}, "x");
  GradientDescentOptimizer optimizer(0.1);
  EXPECT_THAT(error_of([&] { optimizer.minimize(x); }), HasSubstr("No variables to optimize"));
  const Variable w(1.0F, {.name = "w"});
  EXPECT_THAT(
      error_of([&] { optimizer.minimize(x); }),
      HasSubstr(
          "GradientDescent.apply_gradients: No gradients provided for any variable, got [w]"));
  EXPECT_THAT(error_of([&] { optimizer.minimize(cast(x, DType::s32)); }),
              HasSubstr("expected a floating dtype"));
  EXPECT_THAT(error_of([&] { AdagradOptimizer(0.1, {.initial_accumulator_value = 0}); }),
              HasSubstr("initial_accumulator_value, got 0, expected a number above 0"));
}

}  // namespace
}  // namespace systole
