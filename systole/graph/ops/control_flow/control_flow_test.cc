#include <gmock/gmock.h>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/control_flow_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/random_ops.h"
#include "systole/graph/core/variable.h"
#include "systole/graph/functions/functional_ops.h"
#include "systole/graph/gradients/gradients.h"
#include "systole/graph/testing/control_flow_op_cases.h"

namespace systole {
namespace {

using graph_testing::check_op;
using graph_testing::error_of;
using graph_testing::evaluate;
using graph_testing::FeedList;
using graph_testing::MiniSession;
using graph_testing::OpCase;
using ::testing::HasSubstr;

TEST(ControlFlowTable, Rows) {
  for (const OpCase& row : graph_testing::control_flow_op_cases()) check_op(row);
}

class ControlFlowTest : public ::testing::Test {
 protected:
  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  GraphScope scope_{*graph_};
};

Tensor vector(std::initializer_list<float> elements) {
  return Tensor::of<float>({static_cast<int64_t>(elements.size())}, elements);
}

// -- cond

TEST_F(ControlFlowTest, cond_takes_a_branch) {
  const Output pred = placeholder(DType::pred, {}, "pred");
  const Output x = placeholder("float", {}, "x");
  const Output y = cond(
      pred, [&] { return multiply(x, 2); }, [&] { return negative(x); });
  EXPECT_EQ(evaluate(y, {{pred, Tensor(true)}, {x, Tensor(3.0F)}}).item<float>(), 6);
  EXPECT_EQ(evaluate(y, {{pred, Tensor(false)}, {x, Tensor(3.0F)}}).item<float>(), -3);
}

TEST_F(ControlFlowTest, cond_gives_several_results) {
  const Output pred = placeholder(DType::pred, {}, "pred");
  const Output x = placeholder("float", {}, "x");
  const Output n = placeholder(DType::s32, {}, "n");
  const auto results = cond(
      pred,
      [&] {
        return std::vector{x, n};
      },
      [&] {
        return std::vector{exp(x), add(n, 1)};
      });
  const auto values = evaluate(results, {{pred, Tensor(false)}, {x, Tensor(0.0F)}, {n, Tensor(4)}});
  EXPECT_EQ(values[0].item<float>(), 1);
  EXPECT_EQ(values[1].item<int32_t>(), 5);
}

TEST_F(ControlFlowTest, cond_wants_branches_that_agree) {
  const auto error = [](const Output& x, const Output& y) {
    return error_of([&] {
      cond(
          true, [&] { return x; }, [&] { return y; });
    });
  };
  EXPECT_THAT(
      error(constant(1.0F), constant(1)),
      HasSubstr(
          "If: result 0 of the branches, got f32[] and s32[], expected one type, node 'cond'"));
  EXPECT_THAT(error(constant(1.0F), constant(vector({1}))), HasSubstr("got f32[] and f32[1]"));
  EXPECT_THAT(error_of([] {
                cond(
                    1.0F, [] { return constant(1); }, [] { return constant(2); });
              }),
              HasSubstr("If: pred, got f32[], expected pred[]"));
}

TEST_F(ControlFlowTest, cond_assigns_in_the_branch_taken) {
  const Variable v(1.0F);
  const Variable w(1.0F);
  const Output pred = placeholder(DType::pred, {}, "pred");
  const Output y = cond(
      pred, [&] { return v.assign_add(10); },
      [&] {
        w.assign(5.0F);
        return v.read_value();
      });
  const Output after = add(v.read_value(), w.read_value());
  MiniSession session;
  session.run(global_variables_initializer());
  EXPECT_EQ(session.run({y, after}, {{pred, Tensor(true)}})[1].item<float>(), 12);
  EXPECT_EQ(session.run({y, after}, {{pred, Tensor(false)}})[1].item<float>(), 16);
  EXPECT_EQ(session.run(y, {{pred, Tensor(true)}}).item<float>(), 21);
}

TEST_F(ControlFlowTest, checks_in_a_branch_count_when_it_is_taken) {
  const Output n = placeholder(DType::s32, {}, "n");
  const Output y = cond(
      not_equal(n, 0), [&] { return floordiv(10, n); }, [] { return constant(-1); });
  MiniSession session;
  EXPECT_EQ(session.run(y, {{n, Tensor(0)}}).item<int32_t>(), -1);
  EXPECT_EQ(session.run(y, {{n, Tensor(3)}}).item<int32_t>(), 3);
  const Output bad = cond(
      equal(n, 0), [&] { return floordiv(10, n); }, [] { return constant(-1); });
  EXPECT_EQ(session.run(bad, {{n, Tensor(3)}}).item<int32_t>(), -1);
  EXPECT_THAT(error_of([&] { session.run(bad, {{n, Tensor(0)}}); }), HasSubstr("ivision by zero"));
}

TEST_F(ControlFlowTest, shapes_in_a_branch_may_depend_on_captured_sizes) {
  const Output x = placeholder("float", {kUnknown, 2}, "x");
  const Output y = cond(
      true, [&] { return add(x, fill(shape(x), 1.0F)); }, [&] { return x; });
  EXPECT_EQ(y.shape(), (Shape{kUnknown, 2}));
  EXPECT_EQ(evaluate(y, {{x, Tensor::zeros(DType::f32, {3, 2})}}).shape(), (Shape{3, 2}));
}

TEST_F(ControlFlowTest, a_gradient_through_a_read_in_a_branch_is_an_error) {
  const Variable v(1.0F, {.name = "v"});
  const Output x = placeholder("float", {}, "x");
  const Output y = cond(
      true, [&] { return multiply(x, v.read_value()); }, [&] { return x; });
  EXPECT_THAT(error_of([&] { gradients({y}, {x}); }),
              HasSubstr("UNIMPLEMENTED: gradients: read_value of"));
}

TEST_F(ControlFlowTest, cond_differentiates_a_captured_variable) {
  const Variable v(3.0F);
  const Output y = cond(
      true, [&] { return square(v); }, [&] { return constant(0.0F); });
  MiniSession session;
  session.run(v.initializer());
  EXPECT_EQ(session.run(gradients({y}, {v.value()})[0]).item<float>(), 6);
}

// -- while_loop

TEST_F(ControlFlowTest, while_loop_counts) {
  const auto results = while_loop([](auto& v) { return less(v[0], 10); },
                                  [](auto& v) {
                                    return std::vector{add(v[0], 1), multiply(v[1], 2)};
                                  },
                                  {0, 1.0F});
  const auto values = evaluate(results);
  EXPECT_EQ(values[0].item<int32_t>(), 10);
  EXPECT_EQ(values[1].item<float>(), 1024);
}

TEST_F(ControlFlowTest, while_loop_may_not_run_at_all) {
  const auto results = while_loop([](auto& v) { return less(v[0], 0); },
                                  [](auto& v) { return std::vector{add(v[0], 1)}; }, {5});
  EXPECT_EQ(evaluate(results)[0].item<int32_t>(), 5);
}

TEST_F(ControlFlowTest, while_loop_depends_on_values_and_captures) {
  const Output limit = placeholder("float", {}, "limit");
  const Output x = while_loop([&](auto& v) { return less(v[0], limit); },
                              [](auto& v) { return std::vector{multiply(v[0], 3)}; }, {1.0F})[0];
  EXPECT_EQ(evaluate(x, {{limit, Tensor(50.0F)}}).item<float>(), 81);
}

TEST_F(ControlFlowTest, while_loop_stops_at_maximum_iterations) {
  const Output n = while_loop([](auto&) { return constant(true); },
                              [](auto& v) { return std::vector{add(v[0], 1)}; }, {0},
                              {.maximum_iterations = 7})[0];
  EXPECT_EQ(evaluate(n).item<int32_t>(), 7);
}

TEST_F(ControlFlowTest, while_loop_swaps_its_variables) {
  const auto results = while_loop([](auto& v) { return less(v[2], 3); },
                                  [](auto& v) {
                                    return std::vector{v[1], v[0], add(v[2], 1)};
                                  },
                                  {1.0F, 2.0F, 0});
  const auto values = evaluate(results);
  EXPECT_EQ(values[0].item<float>(), 2);
  EXPECT_EQ(values[1].item<float>(), 1);
}

TEST_F(ControlFlowTest, while_loop_nests) {
  const Output total = while_loop([](auto& v) { return less(v[0], 4); },
                                  [](auto& outer) {
                                    const auto inner = while_loop(
                                        [&](auto& v) { return less(v[0], outer[0]); },
                                        [](auto& v) {
                                          return std::vector{add(v[0], 1), add(v[1], v[0])};
                                        },
                                        {0, outer[1]});
                                    return std::vector{add(outer[0], 1), inner[1]};
                                  },
                                  {0, 0})[1];
  EXPECT_EQ(evaluate(total).item<int32_t>(), 0 + 1 + 3);
}

TEST_F(ControlFlowTest, while_loop_wants_results_like_its_variables) {
  const auto always = [](auto&) { return constant(true); };
  EXPECT_EQ(error_of([&] {
              while_loop(always, [](auto& v) { return std::vector{cast(v[0], DType::f32)}; }, {0});
            }),
            "INVALID_ARGUMENT: while_loop: result 0 of the body, got f32[], expected s32[]");
  EXPECT_THAT(
      error_of([&] { while_loop(always, [](auto&) { return std::vector<Output>(); }, {0}); }),
      HasSubstr("while_loop: number of results of the body, got 0, expected 1"));
  EXPECT_THAT(
      error_of([] { while_loop([](auto& v) { return v[0]; }, [](auto& v) { return v; }, {0}); }),
      HasSubstr("while_loop: result of the condition, got s32[], expected pred[]"));
}

TEST_F(ControlFlowTest, while_loop_assigns_variables) {
  const Variable v(1.0F);
  const Output n = while_loop([](auto& i) { return less(i[0], 5); },
                              [&](auto& i) {
                                v.assign(multiply(v.read_value(), 2));
                                return std::vector{add(i[0], 1)};
                              },
                              {0})[0];
  const Output after = v.read_value();
  MiniSession session;
  session.run(v.initializer());
  EXPECT_EQ(session.run({n, after})[1].item<float>(), 32);
  EXPECT_EQ(session.run(v.value()).item<float>(), 32);
}

TEST_F(ControlFlowTest, while_loop_condition_reads_what_the_body_assigns) {
  const Variable v(1.0F);
  const Output n = while_loop([&](auto&) { return less(v.read_value(), 100); },
                              [&](auto& i) {
                                v.assign(multiply(v.read_value(), 2));
                                return std::vector{add(i[0], 1)};
                              },
                              {0})[0];
  MiniSession session;
  session.run(v.initializer());
  EXPECT_EQ(session.run(n).item<int32_t>(), 7);
}

TEST_F(ControlFlowTest, checks_in_a_loop_fail_the_run) {
  const Output start = placeholder(DType::s32, {}, "start");
  const Output in_body = while_loop([](auto& v) { return greater(v[0], -3); },
                                    [](auto& v) {
                                      return std::vector{subtract(v[0], 1), floordiv(10, v[0])};
                                    },
                                    {start, 0})[1];
  const Output in_cond =
      while_loop([](auto& v) { return greater(floordiv(10, v[0]), 2); },
                 [](auto& v) { return std::vector{subtract(v[0], 1)}; }, {start})[0];
  MiniSession session;
  EXPECT_THAT(error_of([&] {
                session.run(in_body, {{start, Tensor(2)}});
              }),
              HasSubstr("ivision by zero"));
  EXPECT_EQ(session.run(in_body, {{start, Tensor(-1)}}).item<int32_t>(), -5);
  EXPECT_THAT(error_of([&] {
                session.run(in_cond, {{start, Tensor(2)}});
              }),
              HasSubstr("ivision by zero"));
  EXPECT_THAT(error_of([&] {
                session.run(in_cond, {{start, Tensor(0)}});
              }),
              HasSubstr("ivision by zero"));
  EXPECT_EQ(session.run(in_cond, {{start, Tensor(-5)}}).item<int32_t>(), -5);
}

TEST_F(ControlFlowTest, a_gradient_wants_a_bound) {
  const Output x = placeholder("float", {}, "x");
  const Output y = while_loop([](auto& v) { return less(v[0], 100); },
                              [](auto& v) { return std::vector{multiply(v[0], 2)}; }, {x})[0];
  const Output dx = gradients({y}, {x})[0];
  EXPECT_EQ(evaluate(y, {{x, Tensor(60.0F)}}).item<float>(), 120);
  const Output nonlinear = while_loop([](auto& v) { return less(v[0], 100); },
                                      [](auto& v) { return std::vector{square(v[0])}; }, {x})[0];
  const Output bad = gradients({nonlinear}, {x})[0];
  EXPECT_THAT(error_of([&] {
                evaluate(bad, {{x, Tensor(60.0F)}});
              }),
              HasSubstr("While: gradient of a loop whose number of iterations is not known"));
  // Nothing of a linear body is needed but the number of iterations.
  EXPECT_EQ(evaluate(dx, {{x, Tensor(30.0F)}}).item<float>(), 4);
}

TEST_F(ControlFlowTest, random_ops_draw_anew_in_each_iteration_and_the_same_in_the_gradient) {
  const Output x = placeholder("float", {}, "x");
  const auto results =
      while_loop([](auto& v) { return less(v[0], 3); },
                 [](auto& v) {
                   const Output noise = random_uniform({}, {.seed = 3});
                   return std::vector{add(v[0], 1), multiply(v[1], noise), add(v[2], noise)};
                 },
                 {0, x, 0.0F});
  const Output dx = gradients({results[1]}, {x})[0];
  MiniSession session;
  const auto values = session.run({results[1], dx, results[2]}, {{x, Tensor(2.0F)}});
  EXPECT_FLOAT_EQ(values[0].item<float>(), 2 * values[1].item<float>());
  const float product = values[1].item<float>();
  const float third = values[2].item<float>() / 3;
  EXPECT_GT(std::abs(product - third * third * third), 1e-6);  // equal only when all draws are
  const auto again = session.run({results[1], dx}, {{x, Tensor(2.0F)}});
  EXPECT_NE(again[1].item<float>(), product);
}

// -- scan

TEST_F(ControlFlowTest, scan_keeps_every_state) {
  const Output x = placeholder("float", {-1});
  const auto sum = [](const Output& state, const Output& element) { return state + element; };
  const Output sums = scan(sum, x, 1.0F);
  EXPECT_EQ(sums.shape(), Shape({-1}));
  EXPECT_THAT(evaluate(sums, {{x, vector({1, 2, 3})}}).data<float>(),
              ::testing::ElementsAre(2, 4, 7));
  EXPECT_THAT(evaluate(sums, {{x, vector({5})}}).data<float>(), ::testing::ElementsAre(6));
  const Output back = scan(sum, constant(vector({1, 2, 3})), 0.0F, {.reverse = true});
  EXPECT_EQ(back.shape(), Shape({3}));
  EXPECT_THAT(evaluate(back).data<float>(), ::testing::ElementsAre(6, 5, 3));
}

// y = a * y + x over the rows: the gradients are those of the unrolled sums.
TEST_F(ControlFlowTest, scan_is_differentiable) {
  const Output x = constant(Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6}));
  const Output a = constant(2.0F);
  const Scan states = scan(
      [&](const std::vector<Output>& state, const std::vector<Output>& elements) {
        return std::vector<Output>{a * state[0] + elements[0], state[1] + elements[1]};
      },
      {x, range(3)}, {zeros({2}), 0});
  EXPECT_EQ(states.stacked[0].shape(), Shape({3, 2}));
  EXPECT_EQ(evaluate(states.last[1]).item<int32_t>(), 3);
  const auto by = gradients({reduce_sum(states.stacked[0]), reduce_sum(states.last[0])}, {x, a});
  EXPECT_THAT(evaluate(by[0]).data<float>(), ::testing::ElementsAre(11, 11, 5, 5, 2, 2));
  // Sums 1 + (2 + 3) + (4 + 6 + 5), differentiated by the factor, and the last once more.
  EXPECT_EQ(evaluate(by[1]).item<float>(), (1 + 2) + 2 * (4 * 1 + 3 + 4 * 2 + 4));
}

TEST_F(ControlFlowTest, scan_wants_rows) {
  const auto fn = [](const Output& state, const Output& element) { return state + element; };
  EXPECT_THAT(error_of([&] { scan(fn, 1.0F, 0.0F); }),
              HasSubstr("scan: elems, got f32[], expected one or more rows, at control_flow_test"));
  EXPECT_THAT(error_of([&] { scan(fn, zeros({0}), 0.0F); }), HasSubstr("elems, got f32[0]"));
  EXPECT_THAT(
      error_of([&] {
        scan([](const std::vector<Output>& state, const std::vector<Output>&) { return state; },
             {zeros({2}), zeros({3})}, {0});
      }),
      HasSubstr("scan: elems, got f32[3], expected 2 rows"));
}

TEST_F(ControlFlowTest, scan_checks_rows_that_are_known_at_run_time) {
  const Output x = placeholder("float", {-1});
  const Output y = placeholder("float", {-1});
  const auto fn = [](const std::vector<Output>& state, const std::vector<Output>& elements) {
    return std::vector{state[0] + elements[0] * elements[1]};
  };
  const Output products = scan(fn, {x, y}, {0.0F}).last[0];
  EXPECT_EQ(evaluate(products, {{x, vector({1, 2})}, {y, vector({3, 4})}}).item<float>(), 11);
  EXPECT_THAT(error_of([&] {
                evaluate(products, {{x, vector({1, 2, 3})}, {y, vector({1, 2})}});
              }),
              HasSubstr("scan: elems, got 2 rows, expected 3"));
  const Tensor none = Tensor::zeros(DType::f32, {0});
  EXPECT_THAT(error_of([&] {
                evaluate(products, {{x, none}, {y, none}});
              }),
              HasSubstr("scan: elems, got 0 rows, expected one or more"));
  // One number is known before.
  const Output fixed = scan(fn, {x, constant(vector({1, 2}))}, {0.0F}).last[0];
  EXPECT_THAT(error_of([&] {
                evaluate(fixed, {{x, vector({1})}});
              }),
              HasSubstr("scan: elems, got 2 rows, expected 1"));
}

// -- Folds and maps

TEST_F(ControlFlowTest, a_fold_begins_with_a_row_whatever_their_number) {
  const Output x = placeholder(DType::f32, {kUnknown}, "x");
  const auto fn = [](const Output& state, const Output& row) { return state * 10 + row; };
  const Output left = foldl(fn, x);
  const Output right = foldr(fn, x, {.name = "right"});
  const Output from = foldl(fn, x, 2);
  const Output gradient = gradients({left}, {x})[0];
  const auto values = [&](const Tensor& rows) {
    std::vector<double> result;
    for (const Tensor& value : evaluate({left, right, from}, {{x, rows}})) {
      result.push_back(value.as_double(0));
    }
    return result;
  };
  EXPECT_THAT(values(vector({5})), ::testing::ElementsAre(5, 5, 25));
  EXPECT_THAT(values(vector({1, 2, 3})), ::testing::ElementsAre(123, 321, 2123));
  EXPECT_TRUE(evaluate(gradient, {{x, vector({5})}}).identical(vector({1})));
  EXPECT_TRUE(evaluate(gradient, {{x, vector({1, 2, 3})}}).identical(vector({100, 10, 1})));
}

TEST_F(ControlFlowTest, folds_and_maps_are_named_in_their_errors) {
  const Output x = constant(vector({1, 2}));
  const auto whole = [](const Output&, const Output&) { return constant(1); };
  EXPECT_THAT(error_of([&] { foldl(whole, x); }),
              HasSubstr("foldl: result 0 of fn, got s32[], expected f32[], at control_flow_test"));
  EXPECT_THAT(error_of([&] { foldr(whole, x, 0); }), HasSubstr("foldr: result 0 of fn, got s32[]"));
  EXPECT_THAT(error_of([&] { foldl(whole, 1.0F); }),
              HasSubstr("foldl: elems, got f32[], expected one or more rows"));
  const Output rows = placeholder(DType::f32, {kUnknown}, "rows");
  const auto add_up = [](const Output& state, const Output& row) { return state + row; };
  const auto same = [](const Output& row) { return row; };
  const FeedList none = {{rows, Tensor(DType::f32, {0})}};
  EXPECT_THAT(error_of([&] { evaluate(foldl(add_up, rows, 0), none); }),
              HasSubstr("foldl: elems, got 0 rows, expected one or more"));
  EXPECT_THAT(error_of([&] { evaluate(map_fn(same, rows), none); }),
              HasSubstr("map_fn: elems, got 0 rows, expected one or more"));
}

TEST_F(ControlFlowTest, maps_nest) {
  const Output x = constant(Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}));
  const Output w = constant(vector({2, 3}));
  const Output y = map_fn(
      [&](const Output& row) {
        const Output sum = reduce_sum(row);
        return map_fn([&](const Output& element) { return element * sum + reduce_sum(w); }, row);
      },
      x);
  EXPECT_TRUE(evaluate(y).identical(Tensor::of<float>({2, 3}, {11, 17, 23, 65, 80, 95})));
  EXPECT_TRUE(evaluate(gradients({y}, {x})[0])
                  .identical(Tensor::of<float>({2, 3}, {12, 12, 12, 30, 30, 30})));
}

TEST_F(ControlFlowTest, scan_checks_what_a_step_gives) {
  const Output x = constant(vector({1, 2}));
  const auto error = [&](std::vector<Output> states) {
    return error_of([&] {
      scan([&](const std::vector<Output>&, const std::vector<Output>&) { return states; }, {x},
           {0.0F});
    });
  };
  EXPECT_THAT(error({}), HasSubstr("scan: number of results of fn, got 0, expected 1, at "
                                   "control_flow_test.cc"));
  EXPECT_THAT(error({Output()}), HasSubstr("scan: result 0 of fn, got none, expected a tensor"));
  EXPECT_THAT(error({constant(1)}), HasSubstr("scan: result 0 of fn, got s32[], expected f32[]"));
  EXPECT_THAT(error({x}), HasSubstr("scan: result 0 of fn, got f32[2], expected f32[]"));
}

}  // namespace
}  // namespace systole
