#include "systole/train/dependent_variables.h"

#include <gtest/gtest.h>

#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/random_ops.h"
#include "systole/train/moving_averages.h"

namespace systole {
namespace {

TEST(DependentVariables, StartAtTheChangedValues) {
  Graph graph;
  const GraphScope scope(graph);
  const Variable kernel(random_normal({2}), {.name = "kernel"});
  const Variable bias(random_normal({2}), {.name = "bias"});
  ExponentialMovingAverage averages(0.9);
  averages.apply({kernel, bias});
  const Variable doubled(kernel.initial_value() * 2.0F, {.name = "doubled"});
  Session session("", {.graph = &graph});
  session.run(global_variables_initializer());
  const Tensor bias_average = session.variable_value(averages.average(bias)).clone();
  const Tensor warm = Tensor::of<float>({2}, {3, 4});
  session.set_variable(kernel, warm);
  initialize_dependents(session, {kernel});
  EXPECT_TRUE(session.variable_value(kernel).identical(warm));
  EXPECT_TRUE(session.variable_value(averages.average(kernel)).identical(warm));
  EXPECT_TRUE(session.variable_value(doubled).identical(Tensor::of<float>({2}, {6, 8})));
  EXPECT_TRUE(session.variable_value(averages.average(bias)).identical(bias_average));
}

}  // namespace
}  // namespace systole
