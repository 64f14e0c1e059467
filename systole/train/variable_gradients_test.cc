#include "systole/train/variable_gradients.h"

#include <gmock/gmock.h>

#include "systole/base/testing/error_of.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/session/session.h"

namespace systole {
namespace {

using systole::testing::error_of;
using ::testing::HasSubstr;

TEST(VariableGradients, AreClippedAndAppliedByHand) {
  Graph graph;
  const GraphScope scope(graph);
  const Variable a(3.0F);
  const Variable b(4.0F);
  const Output loss = 0.5F * (square(a.value()) + square(b.value()));
  const std::vector<Variable> variables = trainable_variables();
  const auto [clipped, norm] = clip_by_global_norm(gradients({loss}, variables), 1.0F);
  const Operation step = GradientDescentOptimizer(1.0).apply_gradients(zip(clipped, variables));
  Session session;
  session.run(global_variables_initializer());
  EXPECT_FLOAT_EQ(session.run({norm, step})[0].item<float>(), 5);
  EXPECT_FLOAT_EQ(session.run(a).item<float>(), 3 - 0.6F);
  EXPECT_FLOAT_EQ(session.run(b).item<float>(), 4 - 0.8F);
}

TEST(VariableGradients, ListsOfTwoLengthsAreNoPairs) {
  Graph graph;
  const GraphScope scope(graph);
  const Variable a(3.0F);
  EXPECT_THAT(error_of([&] {
                zip({a.value(), a.value()}, {a});
              }),
              HasSubstr("zip: gradients, got 2 for 1 variables, expected one for each"));
}

}  // namespace
}  // namespace systole
