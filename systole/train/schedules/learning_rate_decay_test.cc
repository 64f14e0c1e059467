// Schedules against their formulas on doubles.
#include "systole/train/schedules/learning_rate_decay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <set>

#include "systole/graph/api/array_ops.h"
#include "systole/session/session.h"
#include "systole/train/testing/golden_rules.h"

namespace systole {
namespace {

using ::testing::HasSubstr;

struct ScheduleCase {
  std::string name;
  std::function<Output(Output step)> build;
  std::function<double(double step)> expected;
};

std::vector<ScheduleCase> schedule_cases() {
  return {
      {"ExponentialDecay", [](Output s) { return exponential_decay(0.1, s, 10, 0.5); },
       [](double s) { return 0.1 * std::pow(0.5, s / 10); }},
      {"ExponentialDecayStaircase",
       [](Output s) { return exponential_decay(0.1, s, 10, 0.5, {.staircase = true}); },
       [](double s) { return 0.1 * std::pow(0.5, std::floor(s / 10)); }},
      {"NaturalExpDecay", [](Output s) { return natural_exp_decay(0.1, s, 10, 0.5); },
       [](double s) { return 0.1 * std::exp(-0.5 * s / 10); }},
      {"NaturalExpDecayStaircase",
       [](Output s) { return natural_exp_decay(0.1, s, 10, 0.5, {.staircase = true}); },
       [](double s) { return 0.1 * std::exp(-0.5 * std::floor(s / 10)); }},
      {"InverseTimeDecay", [](Output s) { return inverse_time_decay(0.1, s, 10, 0.5); },
       [](double s) { return 0.1 / (1 + 0.5 * s / 10); }},
      {"InverseTimeDecayStaircase",
       [](Output s) { return inverse_time_decay(0.1, s, 10, 0.5, {.staircase = true}); },
       [](double s) { return 0.1 / (1 + 0.5 * std::floor(s / 10)); }},
      {"PiecewiseConstant",
       [](Output s) {
         return piecewise_constant(s, {5, 20}, {1.0, 0.5, 0.25});
       },
       [](double s) { return s <= 5    ? 1.0
                             : s <= 20 ? 0.5
                                       : 0.25; }},
      {"PolynomialDecay",
       [](Output s) {
         return polynomial_decay(0.1, s, 10, {.end_learning_rate = 0.01, .power = 2});
       },
       [](double s) { return 0.09 * std::pow(1 - std::min(s, 10.0) / 10, 2) + 0.01; }},
      {"PolynomialDecayCycle",
       [](Output s) {
         return polynomial_decay(0.1, s, 10, {.end_learning_rate = 0.01, .cycle = true});
       },
       [](double s) {
         const double steps = 10 * std::max(1.0, std::ceil(s / 10));
         return 0.09 * (1 - s / steps) + 0.01;
       }},
      {"CosineDecay", [](Output s) { return cosine_decay(0.1, s, 10, {.alpha = 0.1}); },
       [](double s) {
         const double cosine = 0.5 * (1 + std::cos(std::numbers::pi * std::min(s, 10.0) / 10));
         return 0.1 * (0.9 * cosine + 0.1);
       }},
  };
}

class ScheduleTest : public ::testing::TestWithParam<ScheduleCase> {};

TEST_P(ScheduleTest, FollowsItsFormula) {
  Graph graph;
  const GraphScope scope(graph);
  const Output step = placeholder(DType::s64, {}, "step");
  const Output rate = GetParam().build(step);
  EXPECT_EQ(rate.type(), (TensorType{DType::f32, {}}));
  Session session("", {.graph = &graph});
  for (const int64_t at : {0, 1, 5, 6, 9, 10, 11, 20, 25, 100}) {
    EXPECT_NEAR(session.run(rate, {{step, Tensor(at)}}).item<float>(),
                GetParam().expected(static_cast<double>(at)), 1e-6)
        << "step " << at;
  }
}

INSTANTIATE_TEST_SUITE_P(All, ScheduleTest, ::testing::ValuesIn(schedule_cases()),
                         [](const auto& info) { return info.param.name; });

TEST(ScheduleDefs, HaveTensorFlowsNumbers) {
  std::set<std::string_view> tested = {"piecewise_constant"};  // above
  for (const auto& [key, row] : testing::GoldenFolder::own().expected("schedules").items()) {
    SCOPED_TRACE(key);
    const auto name = row.at("name").get<std::string>();
    const ScheduleDef& def = testing::def_of(all_schedule_defs(), name);
    tested.insert(def.name);
    Graph graph;
    const GraphScope scope(graph);
    const Output step = placeholder(DType::s64, {});
    const Output rate = def.make(testing::golden_values(def.arguments, row.at("config")), step);
    Session session("", {.graph = &graph});
    for (size_t i = 0; i < row.at("steps").size(); ++i) {
      const Tensor at(row.at("steps")[i].get<int64_t>());
      EXPECT_NEAR(session.run(rate, {{step, at}}).item<float>(), row.at("rates")[i].get<double>(),
                  2e-6)
          << "step " << i;
    }
  }
  for (const ScheduleDef* def : all_schedule_defs()) {
    EXPECT_TRUE(tested.contains(def->name)) << def->name << " has no row";
  }
}

TEST(PiecewiseConstant, Errors) {
  Graph graph;
  const GraphScope scope(graph);
  const Output step = placeholder(DType::s64, {}, "step");
  const auto error_of = [&](const std::vector<int64_t>& boundaries,
                            const std::vector<double>& values) -> std::string {
    try {
      piecewise_constant(step, boundaries, values);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(error_of({1, 2}, {1.0}),
              HasSubstr("number of values, got 1 for 2 boundaries, expected 3"));
  EXPECT_THAT(error_of({2, 2}, {1.0, 2.0, 3.0}),
              HasSubstr("boundaries, got [2, 2], expected rising values"));
}

}  // namespace
}  // namespace systole
