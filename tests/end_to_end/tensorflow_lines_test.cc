// Lines as TensorFlow users write them: each compiles here and does what it does there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "systole/base/testing/error_of.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/systole.h"

namespace systole::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class T>
std::string printed(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

class TensorFlowLines : public ::testing::Test {
 protected:
  std::vector<float> floats(const Output& x) {
    const Tensor value = session_.run(x).cast(DType::f32);
    return {value.data<float>().begin(), value.data<float>().end()};
  }

  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  GraphScope scope_{*graph_};
  Session session_{"", {.graph = graph_.get()}};
};

TEST_F(TensorFlowLines, ConstantsOfLists) {
  EXPECT_EQ(printed(session_.run(constant({1.0F, 2.5F}))), "f32[2] {1, 2.5}");
  EXPECT_EQ(printed(session_.run(constant({0.5, 2.5}))), "f32[2] {0.5, 2.5}");
  EXPECT_EQ(printed(session_.run(constant({0.1}, {.dtype = DType::f64}))), "f64[1] {0.1}");
  EXPECT_EQ(printed(session_.run(constant({1, 2, 3}))), "s32[3] {1, 2, 3}");
  EXPECT_EQ(printed(session_.run(constant({true, false}))), "pred[2] {true, false}");
  EXPECT_EQ(printed(session_.run(constant({"a", "b"}))), "string[2] {\"a\", \"b\"}");
  EXPECT_EQ(printed(session_.run(constant(std::vector{1, 2}))), "s32[2] {1, 2}");
  EXPECT_EQ(printed(session_.run(constant({{1, 2}, {3, 4}}))), "s32[2,2] {{1, 2}, {3, 4}}");
  EXPECT_EQ(printed(session_.run(constant({1, 2, 3, 4}, {.shape = Shape{2, 2}}))),
            "s32[2,2] {{1, 2}, {3, 4}}");
  EXPECT_THAT(error_of([] {
                constant({{1, 2}, {3}});
              }),
              AllOf(HasSubstr("constant: row of 1 elements, expected 2"),
                    HasSubstr("tensorflow_lines_test.cc:")));
}

TEST_F(TensorFlowLines, AxesByPosition) {
  const Output x = constant({{1.0F, 5.0F}, {4.0F, 2.0F}});
  EXPECT_THAT(floats(reduce_sum(x)), ElementsAre(12));
  EXPECT_THAT(floats(reduce_sum(x, 1)), ElementsAre(6, 6));
  EXPECT_THAT(floats(reduce_sum(x, {0, 1})), ElementsAre(12));
  EXPECT_THAT(floats(reduce_sum(x, {})), ElementsAre(12));
  EXPECT_THAT(floats(reduce_sum(x, {.axis = 0})), ElementsAre(5, 7));
  EXPECT_EQ(reduce_mean(x, 1, true).shape(), Shape({2, 1}));
  EXPECT_EQ(reduce_max(x, {1}, true).shape(), Shape({2, 1}));
  EXPECT_THAT(floats(reduce_min(x, -1)), ElementsAre(1, 2));
  EXPECT_THAT(floats(argmax(x, 1)), ElementsAre(1, 0));
  EXPECT_EQ(argmax(x, 1, int32).dtype(), DType::s32);
  EXPECT_THAT(floats(argmin(x, 0)), ElementsAre(0, 1));
  EXPECT_THAT(floats(cumsum(x, 1)), ElementsAre(1, 6, 4, 6));
  EXPECT_THAT(floats(transpose(x, {1, 0})), ElementsAre(1, 4, 5, 2));
  EXPECT_THAT(floats(reduce_sum(nn::softmax(x, 0), 0)),
              ElementsAre(::testing::FloatEq(1), ::testing::FloatEq(1)));
  EXPECT_EQ(stack({x, x}, 1).shape(), Shape({2, 2, 2}));
  EXPECT_EQ(split(x, 2, 1)[1].shape(), Shape({2, 1}));
  EXPECT_EQ(squeeze(split(x, 2, 1)[1], {1}).shape(), Shape({2}));
}

TEST_F(TensorFlowLines, FlagsAndValuesByPosition) {
  const Output x = constant({{1, 2}, {3, 4}}, {.dtype = float32});
  EXPECT_THAT(floats(matmul(x, x, true)), ElementsAre(10, 14, 14, 20));
  EXPECT_THAT(floats(matmul(x, x, false, true)), ElementsAre(5, 11, 11, 25));
  EXPECT_THAT(floats(one_hot(constant({1, 0}), 2, 5.0F, -1.0F)), ElementsAre(-1, 5, 5, -1));
  EXPECT_EQ(constant(1, float32).dtype(), DType::f32);
  EXPECT_EQ(constant({1, 2}, float32).type().to_string(), "f32[2]");
  EXPECT_THAT(floats(exponential_decay(0.5F, constant(3), 2, 0.5F, true)), ElementsAre(0.25F));
}

TEST_F(TensorFlowLines, WindowsByPosition) {
  const Output x = ones({1, 4, 4, 2});
  const Output w = ones({3, 3, 2, 5});
  EXPECT_EQ(nn::conv2d(x, w, {1, 1, 1, 1}, "SAME").shape(), Shape({1, 4, 4, 5}));
  EXPECT_EQ(nn::conv2d(x, w, {1, 1, 1, 1}, "VALID").shape(), Shape({1, 2, 2, 5}));
  EXPECT_EQ(
      nn::conv3d(ones({1, 4, 4, 4, 2}), ones({1, 1, 1, 2, 3}), {1, 2, 2, 2, 1}, "SAME").shape(),
      Shape({1, 2, 2, 2, 3}));
  EXPECT_EQ(nn::depthwise_conv2d(x, ones({3, 3, 2, 1}), {1, 1, 1, 1}, "SAME").shape(), x.shape());
  EXPECT_EQ(nn::max_pool(x, {1, 2, 2, 1}, {1, 2, 2, 1}, "SAME").shape(), Shape({1, 2, 2, 2}));
  EXPECT_EQ(nn::avg_pool(x, {1, 2, 2, 1}, {1, 1, 1, 1}, "VALID").shape(), Shape({1, 3, 3, 2}));
  EXPECT_EQ(layers::conv2d(x, 32, 3, 2, "same").shape(), Shape({1, 2, 2, 32}));
  EXPECT_EQ(layers::max_pooling2d(x, 2, 2, {.padding = "same"}).shape(), Shape({1, 2, 2, 2}));
  EXPECT_EQ(layers::average_pooling2d(x, 3, 3, {.padding = "same"}).shape(), Shape({1, 2, 2, 2}));
}

TEST_F(TensorFlowLines, ListsAndTextsByPosition) {
  const Output x = reshape(constant({1.0F, 5.0F, 3.0F}), {1, 3});
  EXPECT_THAT(floats(nn::top_k(x, 2).values), ElementsAre(5, 3));
  EXPECT_EQ(split(x, {1, 2}, 1)[1].shape(), Shape({1, 2}));
  EXPECT_THAT(floats(pad(x, {{0, 0}, {1, 0}}, "CONSTANT")), ElementsAre(0, 1, 5, 3));
  EXPECT_THAT(floats(pad(x, {{0, 0}, {1, 0}}, "REFLECT")), ElementsAre(5, 1, 5, 3));
  EXPECT_THAT(error_of([&] {
                pad(x, {{0, 0}, {1, 0}}, "EDGE");
              }),
              HasSubstr("pad: mode, got 'EDGE', expected CONSTANT, REFLECT or SYMMETRIC"));
  const Variable beta(1.0F, "beta");
  EXPECT_EQ(nn::batch_normalization(x, 0.0F, 1.0F, beta, 2.0F, 1e-5).shape(), x.shape());
  EXPECT_THAT(floats(random_uniform({2}, 3, 4, int32)), ElementsAre(3, 3));
  EXPECT_EQ(random_normal({2}, 0.0F, 0.5F).shape(), Shape({2}));
  EXPECT_THAT(floats(random_normal({2}, 7.0F, 0.0F)), ElementsAre(7, 7));
  EXPECT_THAT(floats(truncated_normal({1}, 7.0F, 0.0F)), ElementsAre(7));
  EXPECT_THAT(floats(truncated_normal_initializer(0.0, 0.0)(Shape({2}), float32)),
              ElementsAre(0, 0));
  EXPECT_THAT(floats(random_normal_initializer(1.0, 0.0)(Shape({1}), float32)), ElementsAre(1));
  EXPECT_EQ(random_uniform_initializer(-1.0, 1.0)(Shape({1}), float32).shape(), Shape({1}));
}

TEST_F(TensorFlowLines, LoopsOverOneTensor) {
  const Output i =
      while_loop([](Output v) { return v < 10; }, [](Output v) { return v + 3; }, {constant(1)});
  EXPECT_THAT(floats(i), ElementsAre(10));
}

TEST_F(TensorFlowLines, LayerNorm) {
  const Output x = constant({{1.0F, 3.0F}, {10.0F, 30.0F}});
  const Output y = contrib::layers::layer_norm(x);
  EXPECT_EQ(global_variables().size(), 2U);
  EXPECT_EQ(global_variables()[0].name(), "LayerNorm/beta");
  EXPECT_EQ(global_variables()[1].name(), "LayerNorm/gamma");
  session_.run(global_variables_initializer());
  EXPECT_THAT(floats(y),
              ::testing::Pointwise(::testing::FloatNear(1e-5F), {-1.0F, 1.0F, -1.0F, 1.0F}));
  const Output both = contrib::layers::layer_norm(
      x, {.scale = false, .activation_fn = relu, .begin_norm_axis = 0, .scope = "all"});
  session_.run(global_variables_initializer());
  EXPECT_EQ(floats(both)[0], 0);
  EXPECT_THAT(error_of([&] { contrib::layers::layer_norm(x, {.begin_norm_axis = 2}); }),
              HasSubstr("layer_norm"));
}

TEST_F(TensorFlowLines, GradientsAndGlobalSteps) {
  Variable w(3.0F, "w");
  const Output loss = square(w.value());
  const Variable step = get_or_create_global_step();
  const Operation train_op = GradientDescentOptimizer(0.5F).minimize(loss, step);
  const Output gradient = gradients(loss, w.value())[0];
  EXPECT_EQ(gradients(loss, {w.value(), loss}).size(), 2U);
  session_.run(global_variables_initializer());
  EXPECT_EQ(session_.run(gradient).item<float>(), 6);
  session_.run(train_op);
  EXPECT_EQ(session_.run(step).as_double(0), 1);
}

TEST_F(TensorFlowLines, TensorsOfTheGraphPrint) {
  const Output x = constant({1.0F, 2.5F}, {.name = "x"});
  EXPECT_EQ(printed(x), "Tensor(\"x:0\", f32[2])");
  EXPECT_EQ(printed(Output()), "Tensor()");
  EXPECT_EQ(printed(x.shape()), "[2]");
}

TEST_F(TensorFlowLines, NamesByPosition) {
  EXPECT_EQ(identity(1.0F, "n").name(), "n:0");
  EXPECT_EQ(identity(1.0F, std::string("m")).name(), "m:0");
  EXPECT_EQ(stop_gradient(1.0F, "s").name(), "s:0");
  const Variable w(0.5F, "w");
  EXPECT_EQ(w.name(), "w");
  EXPECT_EQ(layers::Activation(identity)(w.value()).node()->op_name(), "Identity");
}

TEST_F(TensorFlowLines, NumbersFromRuns) {
  const float a = session_.run(constant(1.5F));
  EXPECT_EQ(a, 1.5F);
  const double b = session_.run(constant(1.5F));
  EXPECT_EQ(b, 1.5);
  const int32_t c = session_.run(argmax(constant({1, 3, 2})));
  EXPECT_EQ(c, 1);
  const int64_t d = session_.run(constant(2.0F));
  EXPECT_EQ(d, 2);
  EXPECT_THAT(error_of([&] { return static_cast<int>(session_.run(constant(0.5F))); }),
              HasSubstr("Tensor: conversion to a number, got f32[] 0.5, expected a value of s32"));
  EXPECT_THAT(error_of([&] { return static_cast<uint8_t>(session_.run(constant(300))); }),
              HasSubstr("got s32[] 300, expected a value of u8"));
  EXPECT_THAT(error_of([&] { return static_cast<uint64_t>(session_.run(constant(-1))); }),
              HasSubstr("got s32[] -1, expected a value of u64"));
  EXPECT_THAT(error_of([&] { return static_cast<int64_t>(Tensor(9.3e18)); }),
              HasSubstr("expected a value of s64"));
  EXPECT_THAT(error_of([&] {
                return static_cast<float>(session_.run(constant({1, 2})));
              }),
              HasSubstr("number of elements, got 2, expected 1"));
  EXPECT_THAT(error_of([&] { return static_cast<float>(session_.run(constant("text"))); }),
              HasSubstr("expected a real number"));
}

TEST_F(TensorFlowLines, FeedsByName) {
  const Output x = placeholder("float", {-1}, "x");
  const Output y = identity(x * 2.0F, "y");
  const std::vector<float> xs = {1, 2};
  EXPECT_EQ(printed(session_.run("y:0", {{"x:0", xs}})), "f32[2] {2, 4}");
  EXPECT_EQ(printed(session_.run(y, {{"x", {3, 4}}})), "f32[2] {6, 8}");
  const FeedDict feeds = {{std::string("x"), xs}};
  EXPECT_EQ(printed(session_.run({y}, feeds)[0]), "f32[2] {2, 4}");
  EXPECT_EQ(graph_->get_tensor_by_name("y:0"), y);
  EXPECT_EQ(graph_->get_operation_by_name("y").node(), y.node());
  EXPECT_THAT(error_of([&] { session_.run(y, {{"xx:0", xs}}); }), HasSubstr("xx"));
  EXPECT_THAT(error_of([&] { session_.run(y, {{"x", xs}, {x, xs}}); }), HasSubstr("x"));
}

// The loops of docs/errors.md.
TEST_F(TensorFlowLines, ErrorsToCatch) {
  const Output x = placeholder("float", {2}, "x");
  try {
    session_.run(x, {{x, {1, 2, 3}}});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid_argument);
    EXPECT_EQ(error.what(), "INVALID_ARGUMENT: " + error.message());
  }
  auto iterator = Dataset::range(3).make_initializable_iterator();
  const Output next = iterator.get_next().leaf();
  int64_t sum = 0;
  for (int epoch = 0; epoch < 2; ++epoch) {
    session_.run(iterator.initializer());
    try {
      while (true) sum += static_cast<int64_t>(session_.run(next));
    } catch (const Error& error) {
      if (error.code() != Code::out_of_range) throw;
    }
  }
  EXPECT_EQ(sum, 6);
}

TEST_F(TensorFlowLines, LayersAndLosses) {
  const Output x = placeholder("float", {-1, 8, 8, 1});
  Output h = layers::conv2d(x, 4, 3, {.padding = "same", .activation = relu});
  EXPECT_EQ(h.shape(), Shape({-1, 8, 8, 4}));
  h = layers::max_pooling2d(h, 2, 2);
  EXPECT_EQ(h.shape(), Shape({-1, 4, 4, 4}));
  h = layers::dropout(layers::flatten(h), 0.4, {.training = true});
  h = layers::dense(h, 16, nn::relu);
  const Output logits = layers::dense(h, 10);
  EXPECT_EQ(logits.shape(), Shape({-1, 10}));
  const Output named = layers::dense(h, 10, {.activation = sigmoid, .name = "head"});
  EXPECT_EQ(trainable_variables("head").front().name(), "head/kernel");
  const Output y = placeholder("float", {-1, 10});
  losses::sigmoid_cross_entropy(y, logits);
  losses::softmax_cross_entropy(y, logits);
  losses::sparse_softmax_cross_entropy(argmax(y, 1), logits);
  losses::mean_squared_error(y, named, 0.5F);
  losses::absolute_difference(y, named);
  EXPECT_EQ(losses::get_losses().size(), 5U);
  EXPECT_TRUE(metrics::accuracy(argmax(y, 1), argmax(logits, 1)).update_op.valid());
  EXPECT_TRUE(metrics::mean(logits).value.valid());
  EXPECT_THAT(error_of([&] { layers::conv2d(x, 4, 3, {.padding = "smae"}); }),
              AllOf(HasSubstr("'smae', expected 'SAME' or 'VALID'"),
                    HasSubstr("tensorflow_lines_test.cc:")));
}

TEST_F(TensorFlowLines, Tensors) {
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(printed(Tensor({2, 3}, values)), "f32[2,3] {{1, 2, 3}, {4, 5, 6}}");
  EXPECT_EQ(printed(Tensor({2}, {1, 2})), "s32[2] {1, 2}");
  EXPECT_THAT(error_of([&] { Tensor({2, 2}, values); }), HasSubstr("6"));
}

TEST_F(TensorFlowLines, Dictionaries) {
  const Tensor t({2}, {1.0F, 2.0F});
  const Dataset dataset = Dataset::from_tensor_slices({{"x", t}, {"y", Tensor({2}, {3, 4})}});
  EXPECT_EQ(dataset.element_spec().to_string(), "{x: f32[], y: s32[]}");
  EXPECT_EQ(Dataset::from_tensor_slices({{"x", t}}).element_spec().to_string(), "{x: f32[]}");
  const Element first = *dataset.begin();
  const float x = first["x"].leaf();
  EXPECT_EQ(x, 1);
}

TPUEstimatorSpec model_fn(const Nest<Output>& features, const Nest<Output>& labels, Mode mode,
                          const Params& /*params*/) {
  const Variable w(0.0F, "w");
  const Output guess = features["x"].leaf() * w;
  if (mode == Mode::predict) return {.mode = mode, .predictions = {{"guess", guess}}};
  const Output loss = losses::mean_squared_error(labels.leaf(), guess);
  return {.mode = mode,
          .predictions = {{"guess", guess}},
          .loss = loss,
          .train_op = train::GradientDescentOptimizer(0.1).minimize(loss, {get_global_step()}),
          .eval_metrics = {[](const Output& y, const Output& w) -> MetricMap {
                             return {{"mean_y", metrics::mean(y)}, {"w", metrics::mean(w)}};
                           },
                           {labels.leaf(), w}},
          .host_call = {.fn = [](std::span<const Tensor>) {}, .tensors = {loss, w, 0.1F}}};
}

TEST_F(TensorFlowLines, Estimator) {
  const TempFolder folder;
  Estimator estimator({.model_fn = model_fn, .model_dir = folder.path()});
  const InputFn input_fn = [](const Params&) {
    return Dataset::zip({Dataset::from_tensor_slices({{"x", Tensor({2}, {1.0F, 2.0F})}}),
                         Dataset::from_tensor_slices({2.0F, 4.0F})})
        .batch(2)
        .repeat(8);
  };
  estimator.train(input_fn, {.max_steps = 8});
  const Evaluation evaluation = estimator.evaluate(input_fn, {.steps = 1});
  std::vector<std::string> names;
  for (const auto& [name, value] : evaluation) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("global_step", "loss", "mean_y", "w"));
  EXPECT_THAT(printed(evaluation), HasSubstr("mean_y = 3"));

  const std::vector<std::pair<std::string, Shape>> variables =
      checkpoint_utils::list_variables(folder.path());
  ASSERT_EQ(variables.size(), 2U);
  EXPECT_EQ(variables[0].first, "global_step");
  EXPECT_EQ(variables[1].second, Shape({}));
  const float w = checkpoint_utils::load_variable(folder.path(), "w");
  EXPECT_NEAR(w, evaluation["w"], 1e-5);
  const int64_t step = train::load_variable(train::latest_checkpoint(folder.path()), "global_step");
  EXPECT_EQ(step, 8);
  EXPECT_THAT(error_of([&] { train::list_variables(folder.path() + "/none"); }),
              HasSubstr("/none: checkpoint, got none, expected a prefix or a folder with one"));
}

}  // namespace
}  // namespace systole::testing
