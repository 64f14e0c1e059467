#include "systole/graph/gradients/gradients.h"

#include <gmock/gmock.h>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/random_ops.h"
#include "systole/graph/core/variable.h"
#include "systole/graph/testing/op_tester.h"

namespace systole {
namespace {

using graph_testing::error_of;
using graph_testing::evaluate;
using graph_testing::MiniSession;
using ::testing::HasSubstr;

class GradientsTest : public ::testing::Test {
 protected:
  double at(const Output& fetch, double x) {
    return evaluate(fetch, {{x_, Tensor(x)}}).item<double>();
  }
  Output gradient(const Output& y) { return gradients({y}, {x_})[0]; }

  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  GraphScope scope_{*graph_};
  Output x_ = placeholder(DType::f64, {}, "x");
};

TEST_F(GradientsTest, follows_a_chain) {
  const Output dx = gradient(exp(square(x_)));
  EXPECT_NEAR(at(dx, 0.7), 2 * 0.7 * std::exp(0.49), 1e-12);
}

TEST_F(GradientsTest, adds_up_over_all_uses) {
  const Output y = add(add(multiply(x_, x_), multiply(x_, 3)), square(x_));
  EXPECT_NEAR(at(gradient(y), 2), 4 + 3 + 4, 1e-12);
}

TEST_F(GradientsTest, sums_over_ys_and_takes_grad_ys) {
  const Output y = square(x_);
  const Output z = multiply(x_, 5);
  EXPECT_NEAR(at(gradients({y, z}, {x_})[0], 3), 6 + 5, 1e-12);
  const Output scaled =
      gradients({y, z}, {x_}, {.grad_ys = {constant(10.0, {.dtype = DType::f64}), Output()}})[0];
  EXPECT_NEAR(at(scaled, 3), 60 + 5, 1e-12);
}

TEST_F(GradientsTest, of_a_tensor_for_itself_is_one) {
  EXPECT_EQ(at(gradient(x_), 3), 1);
  EXPECT_EQ(at(gradients({x_, x_}, {x_})[0], 3), 2);
}

TEST_F(GradientsTest, is_invalid_where_nothing_depends) {
  const Output other = placeholder(DType::f64, {}, "other");
  EXPECT_FALSE(gradients({square(x_)}, {other})[0].valid());
  EXPECT_FALSE(gradient(stop_gradient(x_)).valid());
  EXPECT_FALSE(gradient(cast(cast(x_, DType::s32), DType::f64)).valid());
}

TEST_F(GradientsTest, flows_to_inner_values_and_past_them) {
  const Output y = square(x_);
  const Output z = multiply(y, 3);
  const auto both = gradients({z}, {y, x_});
  EXPECT_EQ(at(both[0], 2), 3);
  EXPECT_EQ(at(both[1], 2), 12);
}

TEST_F(GradientsTest, stops_where_told) {
  const Output a = multiply(x_, 2);
  const Output y = add(x_, a);
  const auto partial = gradients({y}, {x_, a}, {.stop_gradients = {x_, a}});
  EXPECT_EQ(at(partial[0], 2), 1);
  EXPECT_EQ(at(partial[1], 2), 1);
  const auto total = gradients({y}, {x_, a});
  EXPECT_EQ(at(total[0], 2), 3);
}

TEST_F(GradientsTest, of_second_order) {
  const Output dx = gradient(exp(square(x_)));
  const Output second = gradients({dx}, {x_})[0];
  EXPECT_NEAR(at(second, 0.5), (2 + 4 * 0.25) * std::exp(0.25), 1e-12);
}

TEST_F(GradientsTest, names_the_node_that_has_no_gradient) {
  const Output rows = placeholder(DType::f64, {3}, "rows");
  const std::string line = std::to_string(__LINE__ + 1);
  const Output y = random_shuffle(square(rows), {.name = "shuffled"});
  EXPECT_EQ(
      error_of([&] { gradients({y}, {rows}); }),
      "INVALID_ARGUMENT: gradients: op without a gradient, got RandomShuffle, node 'shuffled' at "
      "gradients_test.cc:" +
          line + ", expected a differentiable op");
  // Off the way to x it does not matter.
  EXPECT_TRUE(gradient(add(x_, y)).valid());
}

TEST_F(GradientsTest, wants_floating_ys_and_fitting_grad_ys) {
  const Output n = placeholder(DType::s32, {}, "n");
  EXPECT_THAT(error_of([&] { gradients({n}, {x_}); }),
              HasSubstr("gradients: y 'n:0', got s32[], expected a floating type, node 'n'"));
  EXPECT_THAT(error_of([&] {
                gradients({x_}, {x_}, {.grad_ys = {x_, x_}});
              }),
              HasSubstr("number of grad_ys, got 2, expected 1"));
  EXPECT_THAT(error_of([&] { gradients({x_}, {x_}, {.grad_ys = {n}}); }),
              HasSubstr("grad_y for 'x:0', got s32[], expected f64[]"));
}

TEST_F(GradientsTest, nodes_carry_scope_and_line_of_the_forward_node) {
  const Output y = exp(x_, {.name = "y"});
  const uint32_t line = __LINE__ - 1;
  const Output dx = gradient(y);
  EXPECT_THAT(dx.name(), ::testing::StartsWith("gradients/y_grad/"));
  EXPECT_EQ(dx.node()->where().line, line);
}

TEST_F(GradientsTest, of_a_variable_is_the_sum_over_all_its_reads) {
  const Variable w(2.0, {.name = "w", .dtype = DType::f64});
  const Output y = add(multiply(w, x_), multiply(w.read_value(), 10));
  const auto found = gradients({y}, {w.value(), w.handle()});
  MiniSession session;
  session.run(w.initializer());
  EXPECT_EQ(session.run(found[0], {{x_, Tensor(3.0)}}).item<double>(), 13);
  EXPECT_EQ(session.run(found[1], {{x_, Tensor(3.0)}}).item<double>(), 13);
}

TEST_F(GradientsTest, keeps_an_unknown_batch) {
  const Output batch = placeholder(DType::f32, {kUnknown, 2}, "batch");
  const Output row = placeholder(DType::f32, {2}, "row");
  const auto found = gradients({multiply(batch, row)}, {batch, row});
  EXPECT_EQ(found[0].shape()[1], 2);
  const Tensor value = Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  const auto values = evaluate(found, {{batch, value}, {row, Tensor::of<float>({2}, {10, 20})}});
  graph_testing::expect_close(values[0], Tensor::of<float>({3, 2}, {10, 20, 10, 20, 10, 20}), 0);
  graph_testing::expect_close(values[1], Tensor::of<float>({2}, {9, 12}), 0);
}

}  // namespace
}  // namespace systole
