// Cells by a step computed by hand; sequences.
#include "systole/train/rnn.h"

#include <gmock/gmock.h>

#include <cmath>

#include "systole/base/testing/error_of.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/functions/array_functions.h"
#include "systole/graph/gradients/gradients.h"
#include "systole/session/session.h"

namespace systole::nn {
namespace {

using rnn_cell::BasicLSTMCell;
using rnn_cell::BasicRNNCell;
using rnn_cell::GRUCell;
using rnn_cell::MultiRNNCell;
using systole::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RnnTest : public ::testing::Test {
 protected:
  std::vector<Tensor> evaluate(const std::vector<Output>& outputs) {
    Session session;
    session.run(global_variables_initializer());
    return session.run(std::vector<Fetch>(outputs.begin(), outputs.end()));
  }
  static std::vector<std::string> variable_names() {
    std::vector<std::string> names;
    for (const Variable& v : global_variables()) {
      names.push_back(v.name() + " " + v.type().to_string());
    }
    return names;
  }

  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  GraphScope scope_{*graph_};
  // Kernels are 0.5 everywhere.
  VariableScope halves_{"m", {.initializer = constant_initializer(Tensor(0.5F))}};
};

// Another value for each gate's columns and each row, so that gates are told apart.
Initializer kernel_of(const std::vector<float>& values) {
  return [values](const Shape& shape, DType) { return constant(Tensor::of<float>(shape, values)); };
}

double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }

TEST_F(RnnTest, ASimpleCell) {
  const BasicRNNCell cell(2);
  const auto [output, state] = cell(constant(Tensor::of<float>({1, 1}, {3})), cell.zero_state(1));
  EXPECT_THAT(
      evaluate({output})[0].data<float>(),
      ElementsAre(::testing::FloatEq(std::tanh(1.5F)), ::testing::FloatEq(std::tanh(1.5F))));
  EXPECT_THAT(variable_names(),
              ElementsAre("m/basic_rnn_cell/kernel f32[3,2]", "m/basic_rnn_cell/bias f32[2]"));
}

TEST_F(RnnTest, AnLstmCell) {
  const BasicLSTMCell cell(
      1, {.initializer = kernel_of({0.1F, 0.2F, 0.3F, 0.4F, 0.5F, -0.6F, 0.7F, -0.9F})});
  const Output x = constant(Tensor::of<float>({1, 1}, {2}));
  const auto one = constant(Tensor::of<float>({1, 1}, {1}));
  const auto [output, state] = cell(x, rnn_cell::State::tuple({one, one}));
  const double i = 0.1 * 2 + 0.5;
  const double j = 0.2 * 2 - 0.6;
  const double f = 0.3 * 2 + 0.7;
  const double o = 0.4 * 2 - 0.9;
  const double c = sigmoid_of(f + 1) + sigmoid_of(i) * std::tanh(j);
  const double h = std::tanh(c) * sigmoid_of(o);
  const auto values = evaluate({output, state[0], state[1]});
  EXPECT_NEAR(values[0].item<float>(), h, 1e-6);
  EXPECT_NEAR(values[1].item<float>(), c, 1e-6);
  EXPECT_NEAR(values[2].item<float>(), h, 1e-6);
  EXPECT_THAT(variable_names(),
              ElementsAre("m/basic_lstm_cell/kernel f32[2,4]", "m/basic_lstm_cell/bias f32[4]"));
}

TEST_F(RnnTest, AGruCell) {
  const auto kernel = [](const Shape& shape, DType dtype) {
    return shape[1] == 2 ? kernel_of({0.1F, 0.4F, 0.2F, -0.3F})(shape, dtype)
                         : kernel_of({0.5F, -0.7F})(shape, dtype);
  };
  const GRUCell cell(1, {.kernel_initializer = kernel});
  const auto one = constant(Tensor::of<float>({1, 1}, {1}));
  const auto [output, state] = cell(constant(Tensor::of<float>({1, 1}, {2})), one);
  const double reset = sigmoid_of(0.1 * 2 + 0.2 + 1);
  const double update = sigmoid_of(0.4 * 2 - 0.3 + 1);
  const double candidate = std::tanh(0.5 * 2 - 0.7 * reset);
  EXPECT_NEAR(evaluate({output})[0].item<float>(), update + (1 - update) * candidate, 1e-6);
  EXPECT_THAT(
      variable_names(),
      ElementsAre("m/gru_cell/gates/kernel f32[2,2]", "m/gru_cell/gates/bias f32[2]",
                  "m/gru_cell/candidate/kernel f32[2,1]", "m/gru_cell/candidate/bias f32[1]"));
}

TEST_F(RnnTest, SequencesShareTheCellsVariables) {
  const MultiRNNCell cell({BasicLSTMCell(3), BasicLSTMCell(2)});
  const Output x = placeholder(DType::f32, {-1, 4, 5});
  const auto [outputs, state] = dynamic_rnn(cell, x);
  EXPECT_EQ(outputs.shape(), Shape({-1, 4, 2}));
  EXPECT_EQ(state[1][0].leaf().shape(), Shape({-1, 2}));
  EXPECT_THAT(variable_names(),
              ElementsAre("m/rnn/multi_rnn_cell/cell_0/basic_lstm_cell/kernel f32[8,12]",
                          "m/rnn/multi_rnn_cell/cell_0/basic_lstm_cell/bias f32[12]",
                          "m/rnn/multi_rnn_cell/cell_1/basic_lstm_cell/kernel f32[5,8]",
                          "m/rnn/multi_rnn_cell/cell_1/basic_lstm_cell/bias f32[8]"));
  const std::vector<Output> gradient =
      gradients({reduce_sum(outputs)}, {trainable_variables()[0].value()});
  Session session;
  session.run(global_variables_initializer());
  const auto values = session.run({outputs, state[1][1].leaf(), gradient[0]},
                                  {{x, Tensor::full(DType::f32, {2, 4, 5}, 0.1)}});
  EXPECT_EQ(values[0].shape(), Shape({2, 4, 2}));
  EXPECT_EQ(values[0].as_double(6), values[1].as_double(0));  // the last step's
  EXPECT_NE(values[2].as_double(0), 0);
}

TEST_F(RnnTest, ShortSequencesKeepTheirState) {
  const BasicRNNCell cell(1);
  const Output x = constant(Tensor::of<float>({2, 3, 1}, {1, 1, 1, 1, 1, 1}));
  const auto [outputs, state] =
      dynamic_rnn(cell, x, {.sequence_length = constant(Tensor::of<int32_t>({2}, {1, 3}))});
  const auto values = evaluate({outputs, state.leaf()});
  EXPECT_NE(values[0].as_double(0), 0);
  EXPECT_EQ(values[0].as_double(1), 0);
  EXPECT_EQ(values[0].as_double(2), 0);
  EXPECT_EQ(values[1].as_double(0), values[0].as_double(0));
  EXPECT_EQ(values[1].as_double(1), values[0].as_double(5));
}

TEST_F(RnnTest, ALoopGivesWhatUnrollingGives) {
  const BasicLSTMCell cell(3);
  const Output x = placeholder(DType::f32, {-1, 4, 2});
  const Output lengths = placeholder(DType::s64, {-1});
  const DynamicRnn loop = dynamic_rnn(cell, x, {.sequence_length = lengths});
  const StaticRnn unrolled =
      static_rnn(cell, unstack(x, {.axis = 1}), {.sequence_length = lengths});
  const auto gradients_of = [&](const std::vector<Output>& ys) {
    return gradients(ys, {x, trainable_variables()[0].value()});
  };
  const auto of_loop = gradients_of({loop.outputs, loop.state[0]});
  auto ys = unrolled.outputs;
  ys.push_back(unrolled.state[0]);
  const auto of_unrolled = gradients_of(ys);
  std::vector<float> values(24);
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i));
  Session session;
  session.run(global_variables_initializer());
  const auto results = session.run(
      {loop.outputs, stack(unrolled.outputs, {.axis = 1}), loop.state[1].leaf(),
       unrolled.state[1].leaf(), of_loop[0], of_unrolled[0], of_loop[1], of_unrolled[1]},
      {{x, Tensor::of<float>({3, 4, 2}, values)}, {lengths, Tensor::of<int64_t>({3}, {4, 0, 2})}});
  for (size_t i = 0; i < results.size(); i += 2) {
    ASSERT_EQ(results[i].shape(), results[i + 1].shape());
    EXPECT_THAT(results[i].data<float>(),
                ::testing::Pointwise(::testing::FloatNear(1e-5F), results[i + 1].data<float>()))
        << i;
  }
}

// What the backward cell gives is what a forward one gives of each example reversed by hand.
TEST_F(RnnTest, TwoDirections) {
  for (const bool time_major : {false, true}) {
    Graph graph;
    const GraphScope scope(graph);
    set_random_seed(1);
    const VariableScope drawn("m", {.initializer = random_uniform_initializer()});
    const auto in_order = [&](const Tensor& x) {
      const Output given = constant(x);
      return time_major ? transpose(given, {.perm = {1, 0, 2}}) : given;
    };
    const BasicRNNCell forward(2);
    const BasicRNNCell backward(2);
    const Output lengths = constant(Tensor::of<int32_t>({2}, {3, 2}));
    const Output x = in_order(Tensor::of<float>({2, 3, 1}, {1, 2, 3, 4, 5, 6}));
    const auto both = bidirectional_dynamic_rnn(
        forward, backward, x, {.sequence_length = lengths, .time_major = time_major});
    const Output reversed = in_order(Tensor::of<float>({2, 3, 1}, {3, 2, 1, 5, 4, 6}));
    const auto plain =
        dynamic_rnn(forward, x, {.sequence_length = lengths, .time_major = time_major});
    const auto other =
        dynamic_rnn(backward, reversed, {.sequence_length = lengths, .time_major = time_major});
    EXPECT_THAT(variable_names(),
                ::testing::IsSupersetOf({"m/bidirectional_rnn/fw/basic_rnn_cell/kernel f32[3,2]",
                                         "m/bidirectional_rnn/bw/basic_rnn_cell/bias f32[2]"}));
    const Output forth = reverse_sequence(
        other.outputs, lengths, {.seq_axis = time_major ? 0 : 1, .batch_axis = time_major ? 1 : 0});
    const auto values =
        evaluate({both.fw.outputs, plain.outputs, both.fw.state.leaf(), plain.state.leaf(),
                  both.bw.state.leaf(), other.state.leaf(), both.bw.outputs, forth});
    for (const size_t i : {0, 2, 4, 6}) EXPECT_TRUE(values[i].identical(values[i + 1])) << i;
    EXPECT_FALSE(values[2].identical(values[4]));
    // The first step's output of the backward cell is its last.
    EXPECT_EQ(values[6].as_double(0), values[4].as_double(0));
    EXPECT_EQ(values[6].as_double(10), 0);  // after the second example's end
  }
}

TEST_F(RnnTest, AResidualIsAdded) {
  const rnn_cell::ResidualWrapper cell{BasicRNNCell(1)};
  const auto [output, state] = cell(constant(Tensor::of<float>({1, 1}, {3})), cell.zero_state(1));
  const auto values = evaluate({output, state.leaf()});
  EXPECT_FLOAT_EQ(values[0].item<float>(), 3 + std::tanh(1.5F));
  EXPECT_FLOAT_EQ(values[1].item<float>(), std::tanh(1.5F));
  const rnn_cell::ResidualWrapper wider{BasicRNNCell(1)};
  EXPECT_THAT(error_of([&] {
                wider(ones({1, 2}), wider.zero_state(1));
              }),
              HasSubstr("ResidualWrapper: inputs, got f32[1,2], expected f32[1,1]"));
}

TEST_F(RnnTest, TimeMayComeFirst) {
  const GRUCell cell(2);
  const Output x = placeholder(DType::f32, {4, 3, 5});
  EXPECT_EQ(dynamic_rnn(cell, x, {.time_major = true}).outputs.shape(), Shape({4, 3, 2}));
}

TEST_F(RnnTest, DropoutChangesInputsAndOutputs) {
  const rnn_cell::DropoutWrapper cell(BasicRNNCell(1000), {.output_keep_prob = 0.5, .seed = 1});
  const auto [output, state] = cell(ones({1, 1}), cell.zero_state(1));
  const Tensor value = evaluate({output})[0];
  EXPECT_NEAR(static_cast<double>(std::ranges::count(value.data<float>(), 0.0F)), 500, 80);
}

// Gives its inputs, and as many states as it is told to.
class Echo : public rnn_cell::CellDefinition {
 public:
  Echo(int64_t units, size_t states) : units_(units), states_(states) {}
  int64_t output_size() const override { return units_; }
  Nest<int64_t> state_size() const override { return units_; }
  rnn_cell::CellResult call(const Output& inputs, const rnn_cell::State& state) override {
    if (states_ == 1) return {inputs, state};
    return {inputs, rnn_cell::State::tuple(std::vector(states_, state))};
  }

 private:
  int64_t units_;
  size_t states_;
};

int64_t count_zeros(const Tensor& value) { return std::ranges::count(value.data<float>(), 0.0F); }

TEST_F(RnnTest, ASeedDropsOtherPlacesInEachUse) {
  const rnn_cell::DropoutWrapper cell(
      rnn_cell::RNNCell(std::make_shared<Echo>(1000, 1)),
      {.input_keep_prob = 0.5F, .output_keep_prob = 0.5F, .seed = 3});
  const auto state = cell.zero_state(1);
  const Output once = cell(ones({1, 1000}), state).output;
  const Output again = cell(ones({1, 1000}), state).output;
  const auto values = evaluate({once, once * again});
  EXPECT_NEAR(static_cast<double>(count_zeros(values[0])), 750, 80);
  EXPECT_NEAR(static_cast<double>(count_zeros(values[1])), 937, 50);
}

// As a model's function has it that trains in one graph and evaluates in the next.
TEST(RnnGraphs, ACellOutlivesItsGraph) {
  const MultiRNNCell cell({GRUCell(3), BasicRNNCell(2)});
  const auto run = [&](Graph& graph) {
    const GraphScope scope(graph);
    return dynamic_rnn(cell, ones({1, 2, 5})).outputs;
  };
  std::vector<std::string> first;
  for (int i = 0; i < 3; ++i) {
    const auto graph = std::make_unique<Graph>();
    const Output outputs = run(*graph);
    const GraphScope scope(*graph);
    std::vector<std::string> names;
    for (const Variable& variable : trainable_variables()) names.push_back(variable.name());
    if (i == 0) first = names;
    EXPECT_EQ(names.size(), 6U);
    EXPECT_EQ(names, first);
    Session session;
    session.run(global_variables_initializer());
    EXPECT_EQ(session.run(outputs).shape(), Shape({1, 2, 2}));
  }
  Graph a;
  Graph b;
  run(a);
  run(b);
  run(a);
  const GraphScope scope(a);
  EXPECT_EQ(trainable_variables().size(), 6U);
}

TEST_F(RnnTest, WhatDoesNotFitASequence) {
  const BasicRNNCell cell(2);
  const Output x = placeholder(DType::f32, {3, 4, 5});
  EXPECT_THAT(error_of([&] { dynamic_rnn(cell, x, {.sequence_length = ones({3})}); }),
              HasSubstr("dynamic_rnn: sequence_length, got f32[3], expected integers of [3], at "
                        "rnn_test.cc"));
  EXPECT_THAT(error_of([&] {
                static_rnn(cell, unstack(x, {.axis = 1}),
                           {.sequence_length = zeros({4}, DType::s32)});
              }),
              HasSubstr("static_rnn: sequence_length, got s32[4], expected integers of [3]"));
  const rnn_cell::RNNCell two(std::make_shared<Echo>(5, 2));
  const Output lengths = zeros({3}, DType::s32);
  EXPECT_THAT(error_of([&] { dynamic_rnn(two, x, {.sequence_length = lengths}); }),
              HasSubstr("dynamic_rnn: structure of the state after a step, got (*, *), expected *, "
                        "at rnn_test.cc"));
  EXPECT_THAT(
      error_of([&] { static_rnn(two, unstack(x, {.axis = 1}), {.sequence_length = lengths}); }),
      HasSubstr("static_rnn: structure of the state after a step, got (*, *)"));
}

TEST_F(RnnTest, WhatCannotBe) {
  EXPECT_THAT(error_of([] { BasicLSTMCell(0); }),
              HasSubstr("LSTMCell: num_units, got 0, expected at least 1"));
  EXPECT_THAT(error_of([] { MultiRNNCell({}); }), HasSubstr("MultiRNNCell: cells, got none"));
  const BasicLSTMCell cell(2);
  const Output x = placeholder(DType::f32, {2, 3});
  EXPECT_THAT(
      error_of([&] { cell(x, x); }),
      HasSubstr("LSTMCell: state, got 1 tensors, expected the tuple (c, h), at rnn_test.cc"));
  EXPECT_THAT(error_of([&] { cell(placeholder(DType::f32, {2}), x); }),
              HasSubstr("RNNCell: inputs, got f32[2], expected rank 2"));
  EXPECT_THAT(error_of([&] {
                dynamic_rnn(cell, placeholder(DType::f32, {2, 5, -1}));
              }),
              HasSubstr("RNNCell: axis 1 of inputs, got f32[2,?], expected a known size"));
  EXPECT_THAT(error_of([&] { static_rnn(cell, {}); }), HasSubstr("static_rnn: inputs, got none"));
  EXPECT_THAT(error_of([&] { GRUCell(2)(x, cell.zero_state(2)); }),
              HasSubstr("GRUCell: state, got a tuple of 2, expected one tensor"));
}

}  // namespace
}  // namespace systole::nn
