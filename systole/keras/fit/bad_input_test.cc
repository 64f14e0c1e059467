// What fit(), evaluate(), predict() and compile() refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <future>
#include <memory>

#include "systole/base/log.h"
#include "systole/base/testing/error_of.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/graph.h"
#include "systole/keras/keras.h"

namespace systole::keras {
namespace {

using systole::testing::error_of;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

class KerasBadInputTest : public ::testing::Test {
 protected:
  KerasBadInputTest() : scope_(graph_) {}
  // Four features to three classes.
  static Sequential classifier(const char* loss) {
    Sequential model({layers::Dense(3, {.activation = "softmax", .input_shape = Shape{4}})});
    model.compile({.optimizer = "sgd", .loss = loss, .metrics = {"accuracy"}});
    return model;
  }
  static Tensor zeros(const Shape& shape) { return Tensor::zeros(DType::f32, shape); }
  static std::string fit_error(const Sequential& model, const Tensor& x, const Tensor& y,
                               FitOptions options = {}) {
    options.verbose = 0;
    return error_of([&] { model.fit(x, y, options); });
  }

  Graph graph_;
  GraphScope scope_;
};

// The third batch does not come before the end.
TEST_F(KerasBadInputTest, InputThatHangs) {
  const Sequential model = classifier("mse");
  std::promise<void> end;
  const auto hanging = [ended = end.get_future().share(),
                        calls = std::make_shared<int>(0)]() -> Arrays {
    if (++*calls > 2) ended.wait();
    return {{zeros({6, 4})}, {zeros({6, 3})}, {}};
  };
  EXPECT_THAT(error_of([&] {
                model.fit_generator(
                    hanging, {.verbose = 0, .steps_per_epoch = 100, .hang_timeout_secs = 0.2});
              }),
              AllOf(HasSubstr("DEADLINE_EXCEEDED: input: batches for steps"),
                    HasSubstr("(FitOptions.hang_timeout_secs = 0.2)")));
  EXPECT_THAT(fit_error(model, zeros({6, 4}), zeros({6, 3}), {.hang_timeout_secs = -1}),
              HasSubstr("FitOptions.hang_timeout_secs, got -1, expected >= 0"));
  end.set_value();
}

TEST_F(KerasBadInputTest, LossOfAnEvaluation) {
  const Sequential model = classifier("mse");
  Tensor x = zeros({6, 4});
  x.data<float>()[5] = std::nanf("");
  const LogCapture log;
  model.evaluate(x, zeros({6, 3}), {.verbose = 0});
  EXPECT_THAT(
      log.messages(),
      Contains(HasSubstr("evaluate: the loss is nan in batch 1 of evaluate(); the input has "
                         "nan at [1,1] of x in step 1")));
}

TEST_F(KerasBadInputTest, Inputs) {
  const Sequential model = classifier("mse");
  const Tensor y = zeros({6, 3});
  EXPECT_THAT(fit_error(model, zeros({6, 5}), y),
              HasSubstr("Error when checking input: expected dense_input to have shape (4,) but "
                        "got array with shape (5,)"));
  EXPECT_THAT(fit_error(model, zeros({6, 4, 1}), y),
              HasSubstr("Error when checking input: expected dense_input to have 2 dimensions, "
                        "but got array with shape (6, 4, 1)"));
  EXPECT_THAT(fit_error(model, zeros({5, 4}), y),
              HasSubstr("Input arrays should have the same number of samples as target arrays. "
                        "Found 5 input samples and 6 target samples."));
  EXPECT_THAT(fit_error(model, zeros({0, 4}), zeros({0, 3})), HasSubstr("got no examples"));
  EXPECT_THAT(fit_error(model, Tensor(1.0F), y), HasSubstr("got a scalar"));
  EXPECT_THAT(error_of([&] {
                model.predict(std::vector<Tensor>{zeros({6, 4}), zeros({6, 4})});
              }),
              HasSubstr("Expected to see 1 array(s), but instead got 2"));
  EXPECT_THAT(error_of([&] {
                model.predict(zeros({6, 4}), {.batch_size = 0});
              }),
              HasSubstr("batch_size, got 0, expected at least 1"));
}

TEST_F(KerasBadInputTest, Targets) {
  const Tensor x = zeros({6, 4});
  EXPECT_THAT(fit_error(classifier("mse"), x, zeros({6, 2})),
              HasSubstr("Error when checking target: expected dense to have shape (3,) but got "
                        "array with shape (2,)"));
  EXPECT_THAT(fit_error(classifier("categorical_crossentropy"), x, zeros({6, 1})),
              HasSubstr("You are passing a target array of shape (6, 1) while using as loss "
                        "`categorical_crossentropy`."));
  const Sequential sparse = classifier("sparse_categorical_crossentropy");
  EXPECT_THAT(fit_error(sparse, x, zeros({6, 3})),
              HasSubstr("to have shape (1,) but got array with shape (3,)"));
  Tensor labels = zeros({6});
  EXPECT_EQ(fit_error(sparse, x, labels), "no error");
  labels.data<float>()[4] = 3;
  EXPECT_THAT(fit_error(sparse, x, labels),
              HasSubstr("of example 4, got class 3, which is outside the valid range of [0, 3)"));
  labels.data<float>()[4] = -1;
  EXPECT_THAT(fit_error(sparse, x, labels), HasSubstr("got class -1"));
  labels.data<float>()[4] = 0.5F;
  EXPECT_THAT(fit_error(sparse, x, labels), HasSubstr("got class 0.5"));
  EXPECT_THAT(error_of([&] {
                sparse.evaluate(x, std::vector<Tensor>{labels, labels});
              }),
              HasSubstr("but instead got 2"));
}

TEST_F(KerasBadInputTest, Weights) {
  const Sequential model = classifier("sparse_categorical_crossentropy");
  const Tensor x = zeros({6, 4});
  const Tensor y = zeros({6});
  EXPECT_THAT(fit_error(model, x, y, {.sample_weight = {zeros({6, 2})}}),
              HasSubstr("specify sample_weight_mode=\"temporal\" in compile()"));
  EXPECT_THAT(fit_error(model, x, y, {.sample_weight = {zeros({5})}}),
              HasSubstr("Found 6 input samples and 5 sample weight samples."));
  EXPECT_THAT(fit_error(model, x, y, {.sample_weight = {zeros({6}), zeros({6})}}),
              HasSubstr("sample_weight, got 2 arrays, expected one for each of 1 outputs"));
  EXPECT_THAT(fit_error(model, x, y, {.class_weight = {{1, 2.0}}}),
              HasSubstr("The class 0 exists in the data but not in `class_weight`."));
}

TEST_F(KerasBadInputTest, Options) {
  const Sequential model = classifier("mse");
  const Tensor x = zeros({6, 4});
  const Tensor y = zeros({6, 3});
  EXPECT_THAT(fit_error(model, x, y, {.batch_size = -2}),
              HasSubstr("batch_size, got -2, expected at least 1"));
  EXPECT_THAT(fit_error(model, x, y, {.validation_split = 1.5}),
              HasSubstr("validation_split, got 1.5, expected a number between 0 and 1"));
  EXPECT_THAT(fit_error(model, x, y, {.steps_per_epoch = 7}),
              HasSubstr("got 7 for arrays of 1 batches"));
  EXPECT_THAT(fit_error(model, x, y, {.callbacks = {nullptr}}),
              HasSubstr("callbacks, got a null pointer"));
  EXPECT_THAT(fit_error(model, x, y, {.validation_data = Arrays{{zeros({6, 9})}, {y}, {}}}),
              HasSubstr("expected dense_input to have shape (4,)"));
  const auto generator = [&] { return Arrays{{x}, {y}, {}}; };
  EXPECT_THAT(
      error_of([&] { model.fit(generator, {.validation_split = 0.5, .steps_per_epoch = 1}); }),
      HasSubstr("`validation_split` and `sample_weight` are for arrays"));
  EXPECT_THAT(error_of([&] { model.fit(generator, {.steps_per_epoch = 0}); }),
              HasSubstr("steps, got 0, expected at least 1"));
  EXPECT_THAT(fit_error(model, x, y, {.epochs = -1}),
              HasSubstr("epochs and initial_epoch, got -1 and 0, expected at least 0"));
  EXPECT_THAT(fit_error(model, x, y, {.class_weight = {{0, -1.0}}}),
              HasSubstr("`class_weight`: class 0, got -1, expected a finite number, at least 0"));
  const Dataset dataset = Dataset::from_tensors(Element::tuple({x, y, y, y}));
  EXPECT_THAT(error_of([&] { model.fit(dataset, {.verbose = 0}); }),
              HasSubstr("should be a tuple `(x, y, sample_weight)` or `(x, y)`"));
}

TEST_F(KerasBadInputTest, Compile) {
  const KerasTensor input = Input({4});
  const Model two(input,
                  {layers::Dense(1, {.name = "a"})(input), layers::Dense(1, {.name = "b"})(input)});
  using Losses = std::map<std::string, LossSpec>;
  EXPECT_THAT(error_of([&] {
                two.compile({.optimizer = "sgd", .loss = Losses{{"c", "mse"}}});
              }),
              HasSubstr("Unknown entry in loss dictionary: \"c\". Only expected the following "
                        "keys: a, b"));
  EXPECT_THAT(
      error_of([&] { two.compile({.optimizer = "sgd", .loss = std::vector<LossSpec>{"mse"}}); }),
      HasSubstr("got a list of 1 values, expected one for each of 2 outputs"));
  EXPECT_THAT(
      error_of([&] { two.compile({.optimizer = "sgd", .loss = "mse", .metrics = {"acurracy"}}); }),
      HasSubstr("Unknown metric function:acurracy"));
  EXPECT_THAT(error_of([&] {
                two.compile({.optimizer = "sgd", .loss = "mse", .sample_weight_mode = "temproal"});
              }),
              HasSubstr("sample_weight_mode, got 'temproal', expected \"temporal\""));
  const LogCapture log;
  two.compile({.optimizer = "sgd", .loss = Losses{{"a", "mse"}}});
  EXPECT_THAT(log.messages(), Contains(HasSubstr("Output \"b\" missing from loss dictionary.")));
  EXPECT_THAT(error_of([&] { Model(input, layers::Dense(1)(input)).optimizer(); }),
              HasSubstr("You must compile your model before using it."));
}

TEST_F(KerasBadInputTest, CompiledWithoutALoss) {
  const Sequential model({layers::Dense(3, {.input_shape = Shape{4}})});
  model.compile({.optimizer = "sgd"});
  EXPECT_THAT(fit_error(model, zeros({6, 4}), zeros({6, 3})),
              HasSubstr("The model was compiled without a loss"));
}

TEST_F(KerasBadInputTest, WhatTrainsButCannotBeMeant) {
  const LogCapture log;
  const Sequential binary({layers::Dense(1, {.activation = "sigmoid", .input_shape = Shape{4}})});
  binary.compile({.optimizer = "sgd", .loss = "binary_crossentropy"});
  binary.train_on_batch(zeros({2, 4}), Tensor({2, 1}, {1.0F, 7.0F}));
  EXPECT_THAT(log.messages(), Contains(HasSubstr("got 7, expected numbers from 0 to 1 for the loss "
                                                 "binary_crossentropy")));
  const Sequential words({layers::Embedding(10, 2, {.input_length = 2, .name = "words"})});
  words.predict(Tensor({1, 2}, std::vector<int32_t>{9, 50}));
  EXPECT_THAT(log.messages(), Contains(HasSubstr("layer 'words': ids, got 50, expected 0 to 9")));
  const Sequential empty;
  empty.compile({.optimizer = "sgd", .loss = "mse"});
  EXPECT_THAT(fit_error(empty, zeros({6, 4}), zeros({6, 3})),
              HasSubstr("got no layers, expected at least one: add()"));
  const KerasTensor input = Input({4});
  const Model two(input,
                  {layers::Dense(1, {.name = "a"})(input), layers::Dense(1, {.name = "b"})(input)});
  EXPECT_THAT(
      error_of([&] { two.compile({.optimizer = "sgd", .loss = std::vector<LossSpec>{"mse"}}); }),
      HasSubstr("compile: loss, got a list of 1 values, expected one for each of 2 outputs "
                "(a, b)"));
  EXPECT_THAT(error_of([&] { layers::Dense(1, {.name = "of_line"})(Input({})); }),
              HasSubstr("(made at bad_input_test.cc:"));
}

// predict() gives a row for each example.
TEST_F(KerasBadInputTest, OutputsWithoutABatchAxis) {
  const KerasTensor x = Input({4});
  for (const bool all : {true, false}) {
    const layers::Lambda sum(
        [all](const Output& v) { return all ? reduce_sum(v) : reduce_sum(v, {.axis = {0}}); },
        {.name = "sum"});
    const Model model(x, sum(x));
    const std::string expected = all ? "()" : "(4,)";
    EXPECT_THAT(error_of([&] {
                  model.predict(zeros({9, 4}));
                }),
                HasSubstr(fmt::format("predict: output 'sum' of model '{}', got shape {} for a "
                                      "batch of 32 examples, expected the batch as its first axis",
                                      model.name(), expected)));
    EXPECT_THAT(error_of([&] {
                  model.predict_on_batch(zeros({9, 4}));
                }),
                HasSubstr("for a batch of 9 examples"));
  }
}

// Another value of the batch than a mean would count the examples that pad it.
TEST_F(KerasBadInputTest, LossesAndMetricsOfAWholeBatch) {
  const auto most = [](const Output& t, const Output& p) { return reduce_max(square(p - t)); };
  const auto wrong = [](const Output& t, const Output& p) {
    return matmul(t, p);  // [6,3] x [6,3]
  };
  const Sequential model({layers::Dense(3, {.input_shape = Shape{4}, .name = "out"})});
  const auto error = [&](const LossSpec& loss, const std::vector<MetricSpec>& metrics) {
    model.compile({.optimizer = "sgd", .loss = loss, .metrics = metrics});
    return fit_error(model, zeros({6, 4}), zeros({6, 3}));
  };
  EXPECT_THAT(error(most, {}),
              HasSubstr("loss of output 'out': got a result of shape () for a batch of 32 "
                        "examples, expected a value for each example: reduce over the last axis"));
  EXPECT_THAT(error("mse", {{"spread", most}}),
              HasSubstr("metric 'spread' of output 'out': got a result of shape ()"));
  EXPECT_THAT(error(wrong, {}), HasSubstr("in the loss of output 'out' with targets f32[32,3]"));
  EXPECT_THAT(error("mse", {{"product", wrong}}),
              HasSubstr("in the metric 'product' of output 'out' with targets f32[32,3]"));
}

TEST_F(KerasBadInputTest, Strings) {
  const Sequential model = classifier("mse");
  const Tensor text(DType::string, {6, 4});
  EXPECT_THAT(
      fit_error(model, text, zeros({6, 3})),
      HasSubstr("Error when checking input: dense_input, got string[6,4], expected numbers"));
  EXPECT_THAT(fit_error(model, zeros({6, 4}), text),
              HasSubstr("Error when checking target: dense, got string[6,4]"));
}

TEST_F(KerasBadInputTest, DataSets) {
  const Sequential model = classifier("mse");
  const Tensor x = zeros({6, 4});
  const Tensor y = zeros({6, 3});
  const Dataset single = Dataset::from_tensor_slices(Element::tuple({x, y}));
  EXPECT_THAT(error_of([&] { model.fit(single, {.verbose = 0}); }),
              HasSubstr("in an element (f32[4], f32[3]) of the data set, whose elements are "
                        "batches: has it a batch()?"));
  const Dataset named =
      Dataset::from_tensors(Element::tuple({Element::dict({{"b", x}, {"c", x}}), y}));
  EXPECT_THAT(error_of([&] { model.fit(named, {.verbose = 0}); }),
              HasSubstr("an element has 'b', 'c', expected also 'dense_input', as the model names "
                        "it"));
}

// Trap: the tail of sorted arrays has classes that the training lacks.
TEST_F(KerasBadInputTest, WarnsOfClassesThatOnlyTheValidationHas) {
  const Sequential model = classifier("sparse_categorical_crossentropy");
  Tensor labels = zeros({10});
  for (size_t i = 8; i < 10; ++i) labels.data<float>()[i] = 2;
  const LogCapture log;
  model.fit(zeros({10, 4}), labels, {.verbose = 0, .validation_split = 0.2});
  EXPECT_THAT(log.messages(), Contains(HasSubstr("their class 2 of output 'dense' is not in the "
                                                 "other 8")));
}

// Trap: 'accuracy' looks at the loss, the output and the target.
TEST_F(KerasBadInputTest, AccuracySaysWhatItIs) {
  const auto chosen = [](const Shape& output, const Shape& target, const LossSpec& loss) {
    return MetricSpec("accuracy").resolve(output, target, loss).name;
  };
  const LossSpec own([](const Output& t, const Output& p) { return t - p; });
  const LogCapture log;
  EXPECT_EQ(chosen({8, 3}, {8, 1}, own), "acc");
  EXPECT_THAT(log.messages(), Contains(HasSubstr("with a loss of your own is "
                                                 "sparse_categorical_accuracy")));
  EXPECT_EQ(chosen({8, 3}, {8, 3}, "binary_crossentropy"), "acc");
  EXPECT_THAT(log.messages(), Contains(HasSubstr("is binary_accuracy, of each column by itself")));
}

// With three columns and a loss of one's own, class numbers are compared as such.
TEST_F(KerasBadInputTest, AccuracyOfClassNumbersUnderALossOfOnesOwn) {
  Sequential model({layers::Dense(3, {.use_bias = false, .input_shape = Shape{3}})});
  model.compile({.optimizer = "sgd",
                 .loss = LossSpec([](const Output& t, const Output& p) {
                   return reduce_mean(square(p - t), {.axis = -1});
                 }),
                 .metrics = {"accuracy"}});
  Tensor eye = zeros({3, 3});
  for (size_t i = 0; i < 3; ++i) eye.data<float>()[4 * i] = 1;
  model.set_weights({eye});
  const Tensor labels(Shape{3, 1}, {0.0F, 1.0F, 0.0F});
  EXPECT_NEAR(model.evaluate(eye, labels, {.verbose = 0})["acc"], 2.0 / 3, 1e-6);
}

}  // namespace
}  // namespace systole::keras
