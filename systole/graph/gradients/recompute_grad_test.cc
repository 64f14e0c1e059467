#include "systole/graph/gradients/recompute_grad.h"

#include <gmock/gmock.h>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/control_flow_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/random_ops.h"
#include "systole/graph/functions/variable_scope.h"
#include "systole/graph/gradients/gradients.h"
#include "systole/graph/testing/op_tester.h"

namespace systole {
namespace {

using graph_testing::error_of;
using graph_testing::evaluate;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<float> floats(const Tensor& tensor) {
  const auto elements = tensor.data<float>();
  return {elements.begin(), elements.end()};
}

class RecomputeGradTest : public ::testing::Test {
 protected:
  int64_t count_of(std::string_view op) const {
    return std::ranges::count_if(graph_->nodes(),
                                 [&](const auto& node) { return node->op_name() == op; });
  }

  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  GraphScope scope_{*graph_};
};

TEST_F(RecomputeGradTest, gives_the_gradient_and_runs_the_function_again_for_it) {
  const Output x = constant(Tensor::of<float>({2}, {0.5F, -1.0F}));
  const auto f = [](const Output& v) { return tanh(exp(v) * v); };
  const Output plain = gradients(f(x), x)[0];
  const int64_t before = count_of("Tanh");
  const Output y = recompute_grad(f)(x);
  EXPECT_EQ(count_of("Tanh"), before + 1);
  const Output dx = gradients(y, x)[0];
  EXPECT_EQ(count_of("Tanh"), before + 2);
  EXPECT_EQ(count_of("XlaOptimizationBarrier"), 1);
  EXPECT_EQ(floats(evaluate(y)), floats(evaluate(f(x))));
  EXPECT_EQ(floats(evaluate(dx)), floats(evaluate(plain)));
}

TEST_F(RecomputeGradTest, reaches_variables_that_the_function_reads_and_values_around_it) {
  const Output x = constant(Tensor::of<float>({1, 2}, {1, 2}));
  const Output outside = constant(Tensor::of<float>({1, 2}, {3, 4}));
  const auto layer = recompute_grad([&](const Output& v) {
    const VariableScope scope("layer", {.reuse = Reuse::auto_reuse});
    const Variable w = get_variable("w", {2, 2}, {.initializer = constant_initializer(0.5)});
    return square(matmul(v * outside, w));
  });
  const Output y = layer(x);
  const std::vector<Output> found = gradients(y, {trainable_variables()[0].value(), outside, x});
  ASSERT_TRUE(found[0].valid() && found[1].valid() && found[2].valid());
  // v * outside = [3, 8], its product with w is [5.5, 5.5], dy/d(product) = 11.
  graph_testing::MiniSession session;
  session.run(global_variables_initializer());
  EXPECT_THAT(floats(session.run(found[0])), ElementsAre(33, 33, 88, 88));
  EXPECT_THAT(floats(session.run(found[1])), ElementsAre(11, 22));
  EXPECT_THAT(floats(session.run(found[2])), ElementsAre(33, 44));
}

TEST_F(RecomputeGradTest, keeps_random_numbers) {
  const Output x = constant(Tensor::of<float>({3}, {1, 2, 3}));
  Output mask;
  const Output y = recompute_grad([&](const Output& v) {
    mask = random_uniform({3});
    return v * mask;
  })(x);
  const Output dx = gradients(y, x)[0];
  EXPECT_EQ(count_of("RandomUniform"), 1);
  EXPECT_THAT(floats(evaluate(dx - mask)), Each(0.0F));
}

TEST_F(RecomputeGradTest, works_within_itself_and_for_several_values) {
  const Output x = constant(0.3F);
  const auto inner = recompute_grad([](const Output& v) { return sin(v); });
  const auto outer = recompute_grad([&](const std::vector<Output>& v) {
    return std::vector{inner(v[0]) * v[1], v[0]};
  });
  const std::vector<Output> y = outer({x, x});
  const Output dx = gradients({y[0], y[1]}, {x})[0];
  const Output expected = gradients(sin(x) * x + x, x)[0];
  EXPECT_EQ(floats(evaluate(dx)), floats(evaluate(expected)));
}

TEST_F(RecomputeGradTest, names_a_result_that_is_none) {
  EXPECT_THAT(error_of([] { recompute_grad([](const Output&) { return Output(); })(1.0F); }),
              HasSubstr("recompute_grad: result of the function, got none, expected a tensor"));
}

}  // namespace
}  // namespace systole
