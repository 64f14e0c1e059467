// Checks one op from one table row: value, gradient, unknown sizes, dtypes, error text.
//
//   const OpCase kCases[] = {
//     {.name = "add_broadcasts", .build = [](auto& x) { return add(x[0], x[1]); },
//      .inputs = {random_tensor({2, 3}), random_tensor({3})},
//      .reference = [](auto& x) {...}},                      // or .expected =
//      {Tensor::of<float>(...)}
//     {.name = "add_shapes", .build = ..., .inputs = ..., .error = "expected shapes that
//     broadcast"},
//   };
//   INSTANTIATE_TEST_SUITE_P(MathOps, OpTest, testing::ValuesIn(kCases), op_case_name);
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "systole/graph/testing/mini_session.h"

namespace systole::graph_testing {

// What a `build` function returns: one tensor or several.
struct Outputs : std::vector<Output> {
  Outputs(Output output) : std::vector<Output>{output} {}                            // NOLINT
  Outputs(std::vector<Output> outputs) : std::vector<Output>(std::move(outputs)) {}  // NOLINT
  Outputs(std::initializer_list<Output> outputs) : std::vector<Output>(outputs) {}   // NOLINT
};
using BuildFn = std::function<Outputs(const std::vector<Output>& inputs)>;

struct OpCase {
  std::string name;
  // Builds the op on placeholders of the inputs' types. Literals in it take the placeholders'
  // dtype.
  BuildFn build;
  std::vector<Tensor> inputs;

  // The value, by one of: the outputs themselves (an invalid Tensor: any value); another way to
  // build them; another way to compute them.
  std::vector<Tensor> expected = {};
  BuildFn reference = nullptr;
  std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs)> compute = nullptr;
  // |got - expected| <= tolerance * max(1, |expected|); integers and pred must be equal.
  double tolerance = 1e-5;

  // Further dtypes for the floating inputs; results must agree with the case's within the dtype's
  // precision times `ulps`.
  std::vector<DType> dtypes = {};
  double ulps = 16;

  // Compares the gradient of the floating outputs for every floating input with central
  // differences, in f64. Inputs must lie `step` away from kinks.
  bool gradient = true;
  double step = 1e-5;
  double gradient_tolerance = 1e-6;
  // Inputs that get no gradient (an invalid Output): by position.
  std::vector<int> no_gradient = {};
  // Also the gradient of the gradient, against differences of the first.
  bool second_order = false;

  // Builds again with the first dimension of every input of rank >= 1 unknown (but for the inputs
  // listed): values and gradients must be the same, bit by bit.
  bool unknown_batch = true;
  std::vector<int> known_inputs = {};

  // When not empty: building or specialising must fail with a message that contains it, and nothing
  // else is checked.
  std::string error = {};
};

// Records failures as gtest does, under the case's name.
void check_op(const OpCase& op_case, const Executor& executor = evaluate_by_reference);
void check_ops(const std::vector<OpCase>& op_cases);

// What check_op differentiates of a case, as one graph: its outputs, their gradients and, where it
// asks for them, the gradients of those. `feeds` are the placeholders' values.
struct CaseGraph {
  std::shared_ptr<Graph> graph;
  FeedList feeds;
};
// REQUIRES: a case without `error`.
CaseGraph graph_of(const OpCase& op_case);

// The case with its floating outputs squared, and checked to second order: what differentiates the
// gradient of an op that is linear, whose own second derivative is nothing.
OpCase squared(OpCase op_case);
// The cases, and where one has `second_order` its square in place of that.
std::vector<OpCase> with_squares(std::vector<OpCase> cases);

// TEST_P over rows; define no other suite for them.
class OpTest : public ::testing::TestWithParam<OpCase> {};
std::string op_case_name(const ::testing::TestParamInfo<OpCase>& info);

// Reproducible values: uniform in [low, high), a function of the shape and `seed`.
Tensor random_tensor(const Shape& shape, double low = -1, double high = 1, DType dtype = DType::f32,
                     uint64_t seed = 1);

// A shape of rank 1 to 3 and at most 64 elements, a function of `seed`.
Shape random_shape(uint64_t seed);

// Records a failure unless all elements agree: |got - want| <= tolerance * max(1, |want|); NaN
// equals NaN.
void expect_close(const Tensor& got, const Tensor& want, double tolerance);

}  // namespace systole::graph_testing
