#include "systole/train/hyperparameter.h"

#include <gmock/gmock.h>

#include <functional>
#include <limits>

#include "systole/base/testing/error_of.h"
#include "systole/graph/api/array_ops.h"
#include "systole/train/layers.h"
#include "systole/train/moving_averages.h"
#include "systole/train/optimizer.h"
#include "systole/train/schedules/learning_rate_decay.h"

namespace systole {
namespace {

using systole::testing::error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

struct Case {
  std::function<void()> build;
  std::string error;
};

void expect_refused(const std::vector<Case>& cases) {
  Graph graph;
  const GraphScope scope(graph);
  for (const Case& c : cases) {
    EXPECT_THAT(error_of(c.build),
                AllOf(HasSubstr(c.error), HasSubstr("at hyperparameter_test.cc:")));
  }
}

Output step() { return placeholder(DType::s64, {}, "step"); }
Output matrix() { return placeholder(DType::f32, {4, 2}, "x"); }

// Numbers that cannot work are refused with the user's line.
TEST(Hyperparameter, OfOptimizers) {
  expect_refused(
      {{[] { GradientDescentOptimizer{-0.1}; },
        "GradientDescentOptimizer: learning_rate, got -0.1, expected a number of 0 or more"},
       {[] { MomentumOptimizer(kNan, 0.9); }, "MomentumOptimizer: learning_rate, got nan"},
       {[] { AdagradOptimizer{kInf}; }, "AdagradOptimizer: learning_rate, got inf"},
       {[] { FtrlOptimizer{-1}; }, "FtrlOptimizer: learning_rate, got -1"},
       {[] { RMSPropOptimizer{-1}; }, "RMSPropOptimizer: learning_rate, got -1"},
       {[] { AdamOptimizer({.learning_rate = -1}); }, "AdamOptimizer: learning_rate, got -1"},
       {[] { AdamOptimizer{-1}; }, "AdamOptimizer: learning_rate, got -1"},
       {[] { AdadeltaOptimizer{-1}; }, "AdadeltaOptimizer: learning_rate, got -1"},
       {[] { MomentumOptimizer(0.1, 7); },
        "MomentumOptimizer: momentum, got 7, expected a number in [0, 1]"},
       {[] { MomentumOptimizer(0.1, kNan); }, "MomentumOptimizer: momentum, got nan"},
       {[] { AdamOptimizer(0.1, {.beta1 = 1.5}); },
        "AdamOptimizer: beta1, got 1.5, expected a number in [0, 1)"},
       {[] { AdamOptimizer(0.1, {.beta2 = 1}); }, "AdamOptimizer: beta2, got 1"},
       {[] { AdamOptimizer({.epsilon = -1}); }, "AdamOptimizer: epsilon, got -1"},
       {[] { RMSPropOptimizer(0.1, {.decay = 7}); }, "RMSPropOptimizer: decay, got 7"},
       {[] { RMSPropOptimizer(0.1, {.momentum = -1}); }, "RMSPropOptimizer: momentum, got -1"},
       {[] { AdadeltaOptimizer({.rho = 2}); }, "AdadeltaOptimizer: rho, got 2"},
       {[] { ExponentialMovingAverage(7); }, "ExponentialMovingAverage: decay, got 7"}});
}

TEST(Hyperparameter, OfSchedules) {
  expect_refused(
      {{[] { exponential_decay(0.1, step(), 0, 0.5); },
        "exponential_decay: decay_steps, got 0, expected a number above 0"},
       {[] { exponential_decay(0.1, step(), 10, -0.5); }, "decay_rate, got -0.5"},
       {[] { natural_exp_decay(0.1, step(), 10, -0.5); },
        "natural_exp_decay: decay_rate, got -0.5"},
       {[] { inverse_time_decay(0.1, step(), 10, -1); }, "inverse_time_decay: decay_rate, got -1"},
       {[] { polynomial_decay(-0.1, step(), 10); }, "polynomial_decay: learning_rate, got -0.1"},
       {[] { polynomial_decay(0.1, step(), 10, {.end_learning_rate = -1}); },
        "polynomial_decay: end_learning_rate, got -1"},
       {[] { cosine_decay(0.1, step(), -3); }, "cosine_decay: decay_steps, got -3"},
       {[] {
          piecewise_constant(step(), {10}, {0.1, kNan});
        },
        "piecewise_constant: value, got nan"},
       {[] {
          piecewise_constant(step(), {10, 5}, {0.1, 0.2, 0.3});
        },
        "piecewise_constant: boundaries, got [10, 5], expected rising values"},
       {[] { piecewise_constant(step(), {10}, {0.1}); },
        "piecewise_constant: number of values, got 1 for 1 boundaries, expected 2"},
       {[] { cosine_decay(0.1, step(), 10, {.alpha = -5}); },
        "cosine_decay: alpha, got -5, expected a number in [0, 1]"}});
}

TEST(Hyperparameter, OfLayers) {
  expect_refused({{[] { layers::dense(matrix(), INT64_MAX); },
                   "dense: units, got 9223372036854775807, expected at most 2147483647"},
                  {[] { layers::batch_normalization(matrix(), {.axis = 7}); },
                   "batch_normalization: axis, got 7, expected in [-2, 2)"},
                  {[] { layers::batch_normalization(matrix(), {.momentum = 7}); },
                   "batch_normalization: momentum, got 7, expected a number in [0, 1]"},
                  {[] { layers::batch_normalization(matrix(), {.epsilon = -1}); },
                   "batch_normalization: epsilon, got -1"}});
}

TEST(Hyperparameter, TensorsAndZeroRatesPass) {
  Graph graph;
  const GraphScope scope(graph);
  const Output rate = placeholder(DType::f32, {}, "rate");
  EXPECT_NO_THROW(GradientDescentOptimizer{rate});
  EXPECT_NO_THROW(AdamOptimizer{0.0});
  EXPECT_NO_THROW(exponential_decay(rate, placeholder(DType::s64, {}), rate, rate));
}

}  // namespace
}  // namespace systole
