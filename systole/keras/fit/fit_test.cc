// fit() on all kinds of input, and weights of samples.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <set>
#include <thread>

#include "systole/base/log.h"
#include "systole/base/random.h"
#include "systole/base/testing/error_of.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/core/graph.h"
#include "systole/keras/fit/batch_source.h"
#include "systole/keras/keras.h"

namespace systole::keras {
namespace {

using systole::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor fit_numbers(const Shape& shape, uint64_t seed) {
  Tensor t(DType::f32, shape);
  RandomStream stream(seed);
  for (float& x : t.data<float>()) x = static_cast<float>(stream.next_normal());
  return t;
}

class FitInputTest : public ::testing::Test {
 protected:
  FitInputTest() : scope_(graph_) {}

  Sequential make_model() const {
    backend::clear_session();
    set_random_seed(11);
    Sequential model(
        {layers::Dense(3, {.activation = "tanh", .input_shape = Shape{4}}), layers::Dense(1)});
    model.compile({.optimizer = "adam", .loss = "mse"});
    return model;
  }
  Arrays batch(int64_t i) const {
    const int64_t end = std::min<int64_t>(i * 16 + 16, 40);
    return {{x_.slice(i * 16, end)}, {y_.slice(i * 16, end)}, {}};
  }
  std::vector<Tensor> trained_on_arrays() const {
    Sequential model = make_model();
    model.fit(x_, y_, {.batch_size = 16, .epochs = 2, .verbose = 0, .shuffle = false});
    return model.get_weights();
  }
  static void expect_identical(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(a[i].identical(b[i])) << i;
  }

  Graph graph_;
  GraphScope scope_;
  const Tensor x_ = fit_numbers({40, 4}, 1);
  const Tensor y_ = fit_numbers({40, 1}, 2);
};

// Gives the batches of the test and counts its calls.
class BatchesOfForty : public Sequence {
 public:
  explicit BatchesOfForty(std::function<Arrays(int64_t)> batch) : batch_(std::move(batch)) {}
  int64_t size() const override { return 3; }
  Arrays get(int64_t index) override {
    taken.push_back(index);
    thread = std::this_thread::get_id();
    return batch_(index);
  }
  void on_epoch_end() override { ++epochs; }

  std::vector<int64_t> taken;
  std::thread::id thread;
  int epochs = 0;

 private:
  std::function<Arrays(int64_t)> batch_;
};

TEST_F(FitInputTest, GeneratorTrainsAsArrays) {
  Sequential model = make_model();
  int64_t next = 0;
  const History history = model.fit_generator([&] { return batch(next++ % 3); },
                                              {.epochs = 2, .verbose = 0, .steps_per_epoch = 3});
  EXPECT_EQ(history.epoch.size(), 2U);
  expect_identical(model.get_weights(), trained_on_arrays());
}

TEST_F(FitInputTest, SequenceTrainsAsArraysOnAThreadOfItsOwn) {
  Sequential model = make_model();
  const auto sequence = std::make_shared<BatchesOfForty>([this](int64_t i) { return batch(i); });
  model.fit(sequence, {.epochs = 2, .verbose = 0, .shuffle = false});
  EXPECT_THAT(sequence->taken, ElementsAre(0, 1, 2, 0, 1, 2));
  EXPECT_EQ(sequence->epochs, 2);
  EXPECT_NE(sequence->thread, std::this_thread::get_id());
  expect_identical(model.get_weights(), trained_on_arrays());
}

TEST_F(FitInputTest, SequenceIsShuffledByBatches) {
  Sequential model = make_model();
  const auto sequence = std::make_shared<BatchesOfForty>([this](int64_t i) { return batch(i); });
  model.fit(sequence, {.epochs = 6, .verbose = 0});
  ASSERT_EQ(sequence->taken.size(), 18U);
  std::set<std::vector<int64_t>> orders;
  for (size_t e = 0; e < 6; ++e) {
    std::vector<int64_t> order(sequence->taken.begin() + static_cast<int64_t>(3 * e),
                               sequence->taken.begin() + static_cast<int64_t>(3 * e + 3));
    orders.insert(order);
    std::ranges::sort(order);
    EXPECT_THAT(order, ElementsAre(0, 1, 2));
  }
  EXPECT_GT(orders.size(), 1U);
}

TEST_F(FitInputTest, DatasetTrainsAsArrays) {
  const Dataset dataset =
      Dataset::from_tensor_slices(Element::tuple({Element(x_), Element(y_)})).batch(16);
  Sequential by_epoch = make_model();
  const History history = by_epoch.fit(dataset, {.epochs = 2, .verbose = 0});
  EXPECT_EQ(history.epoch.size(), 2U);
  expect_identical(by_epoch.get_weights(), trained_on_arrays());
  Sequential by_steps = make_model();
  by_steps.fit(dataset.repeat(), {.epochs = 2, .verbose = 0, .steps_per_epoch = 3});
  expect_identical(by_steps.get_weights(), trained_on_arrays());
}

TEST_F(FitInputTest, EvaluateAndPredictTakeAllInputs) {
  Sequential model = make_model();
  const double expected = model.evaluate(x_, y_, {.verbose = 0});
  int64_t next = 0;
  const auto generator = [&] { return batch(next++); };
  EXPECT_NEAR(model.evaluate_generator(generator, {.verbose = 0, .steps = 3}), expected, 1e-6);
  const auto sequence = std::make_shared<BatchesOfForty>([this](int64_t i) { return batch(i); });
  EXPECT_NEAR(model.evaluate(sequence, {.verbose = 0}), expected, 1e-6);
  EXPECT_EQ(model.predict_generator(sequence).shape(), (Shape{40, 1}));
  EXPECT_TRUE(model.predict_generator(sequence).identical(model.predict(x_, {.batch_size = 16})));
  const Dataset inputs = Dataset::from_tensor_slices(Element(x_)).batch(16);
  EXPECT_EQ(model.predict_generator(inputs).shape(), (Shape{40, 1}));
}

TEST_F(FitInputTest, BatchesMayGrow) {
  Sequential model = make_model();
  int64_t next = 0;
  const auto generator = [&]() -> Arrays {
    const int64_t rows = 8 + 16 * (next++ % 3);  // 8, 24, 40
    return {{x_.slice(0, rows)}, {y_.slice(0, rows)}, {}};
  };
  const History history =
      model.fit_generator(generator, {.epochs = 2, .verbose = 0, .steps_per_epoch = 3});
  EXPECT_EQ(history.epoch.size(), 2U);
  // One program each: smaller batches are filled up.
  EXPECT_EQ(model.trainer().num_programs(), 3U);
}

TEST_F(FitInputTest, ValidationOnAGeneratorContinues) {
  Sequential model = make_model();
  std::vector<int64_t> taken;
  const auto validation = [&, next = int64_t{0}]() mutable {
    taken.push_back(next % 3);
    return batch(next++ % 3);
  };
  const History history = model.fit(x_, y_,
                                    {.batch_size = 16,
                                     .epochs = 2,
                                     .verbose = 0,
                                     .validation_data = validation,
                                     .validation_steps = 2});
  EXPECT_EQ(history.history.at("val_loss").size(), 2U);
  EXPECT_THAT(taken, ElementsAre(0, 1, 2, 0));
}

TEST_F(FitInputTest, EndOfInputInterruptsTheTraining) {
  Sequential model = make_model();
  int64_t next = 0;
  const auto generator = [&]() -> std::optional<Arrays> {
    if (next == 4) return std::nullopt;
    return batch(next++ % 3);
  };
  const LogCapture log;
  const History history =
      model.fit_generator(generator, {.epochs = 5, .verbose = 0, .steps_per_epoch = 3});
  EXPECT_EQ(history.epoch.size(), 2U);
  EXPECT_THAT(log.messages(),
              ::testing::Contains(HasSubstr("the input ran out of data; interrupting training")));
}

TEST_F(FitInputTest, ErrorsOfAGeneratorReachTheCaller) {
  Sequential model = make_model();
  int64_t next = 0;
  const auto generator = [&]() -> Arrays {
    if (next++ == 2) throw std::out_of_range("no third batch");
    return batch(0);
  };
  EXPECT_THROW(model.fit_generator(generator, {.verbose = 0, .steps_per_epoch = 9}),
               std::out_of_range);
  EXPECT_THAT(error_of([&] { model.fit_generator(generator, {.verbose = 0}); }),
              HasSubstr("`steps=None` is only valid for a Sequence or a Dataset"));
  const auto shapes = [&]() -> Arrays {
    return {{fit_numbers({4, 5}, 1)}, {fit_numbers({4, 1}, 1)}, {}};
  };
  EXPECT_THAT(error_of([&] { model.fit_generator(shapes, {.steps_per_epoch = 1}); }),
              HasSubstr("expected dense_input to have shape (4,) but got array with shape (5,)"));
}

TEST_F(FitInputTest, BatchShuffleKeepsBatchesTogether) {
  Tensor rows(DType::f32, {22, 1});
  for (size_t i = 0; i < 22; ++i) rows.data<float>()[i] = static_cast<float>(i);
  const Arrays arrays{{rows}, {}, {}};
  const auto source =
      array_source(arrays, {.batch_size = 4, .shuffle = "batch", .seed = 3, .who = "test"});
  std::set<float> begins;
  bool moved = false;
  for (int64_t i = 0; i < 6; ++i) {
    const Tensor part = source->next()->x[0];
    const auto values = part.data<float>();
    for (size_t k = 1; k < values.size(); ++k) EXPECT_EQ(values[k], values[0] + k);
    EXPECT_EQ(values.size(), i < 5 ? 4U : 2U);
    begins.insert(values[0]);
    moved = moved || values[0] != static_cast<float>(4 * i);
  }
  EXPECT_THAT(begins, ElementsAre(0, 4, 8, 12, 16, 20));
  EXPECT_TRUE(moved);
  EXPECT_THAT(error_of([] { Shuffle shuffle("rows"); }), HasSubstr("expected \"batch\""));
}

// Losses by hand of a linear layer over time, [examples, 3 steps].
class SampleWeightTest : public ::testing::Test {
 protected:
  SampleWeightTest() : scope_(graph_) { set_random_seed(2); }

  Sequential make_model(const CompileOptions& options) {
    Sequential model({layers::Dense(1, {.use_bias = false, .input_shape = Shape{3, 2}})});
    model.compile(options);
    return model;
  }
  // (x w - y)^2 by example and step.
  std::vector<double> squares(const Sequential& model) const {
    const Tensor w = model.get_weights()[0];
    std::vector<double> result;
    for (size_t i = 0; i < 30; ++i) {
      const double p = static_cast<double>(x_.data<float>()[2 * i]) * w.as_double(0) +
                       static_cast<double>(x_.data<float>()[2 * i + 1]) * w.as_double(1);
      result.push_back(std::pow(p - static_cast<double>(y_.data<float>()[i]), 2));
    }
    return result;
  }

  Graph graph_;
  GraphScope scope_;
  const Tensor x_ = fit_numbers({10, 3, 2}, 7);
  const Tensor y_ = fit_numbers({10, 3, 1}, 8);
};

TEST_F(SampleWeightTest, TemporalWeightsCountByStep) {
  Sequential model =
      make_model({.optimizer = "sgd", .loss = "mse", .sample_weight_mode = "temporal"});
  Tensor weights(DType::f32, {10, 3});
  for (size_t i = 0; i < 30; ++i) weights.data<float>()[i] = static_cast<float>(i % 4);
  const std::vector<double> each = squares(model);
  double sum = 0;
  double total = 0;
  for (size_t i = 0; i < 30; ++i) {
    sum += each[i] * static_cast<double>(i % 4);
    total += static_cast<double>(i % 4);
  }
  EXPECT_NEAR(model.evaluate(x_, y_, {.batch_size = 10, .verbose = 0, .sample_weight = {weights}}),
              sum / total, 1e-5);
  EXPECT_THAT(error_of([&] {
                model.evaluate(x_, y_, {.sample_weight = {weights.slice(0, 10).reshape({30})}});
              }),
              HasSubstr("you should pass a 2D sample_weight array"));
}

TEST_F(SampleWeightTest, RulesOfWeights) {
  Tensor weights(DType::f32, {10});
  for (size_t i = 0; i < 10; ++i) weights.data<float>()[i] = static_cast<float>(i % 3);
  const auto loss = [&](WeightRule rule) {
    Sequential model = make_model({.optimizer = "sgd", .loss = "mse", .weight_rule = rule});
    const std::vector<double> each = squares(model);
    double sum = 0;
    double of_weights = 0;
    double counted = 0;
    for (size_t n = 0; n < 10; ++n) {
      const auto w = static_cast<double>(n % 3);
      sum += (each[3 * n] + each[3 * n + 1] + each[3 * n + 2]) / 3 * w;
      of_weights += w;
      counted += w > 0 ? 1 : 0;
    }
    const double got =
        model.evaluate(x_, y_, {.batch_size = 10, .verbose = 0, .sample_weight = {weights}});
    EXPECT_NEAR(got, sum / (rule == WeightRule::sum_of_weights ? of_weights : counted), 1e-5);
  };
  loss(WeightRule::sum_of_weights);
  loss(WeightRule::count_of_weighted);
}

TEST_F(SampleWeightTest, ClassWeightsAreSampleWeights) {
  const auto trained = [&](bool by_class) {
    backend::clear_session();
    set_random_seed(2);
    Sequential model({layers::Dense(3, {.activation = "softmax", .input_shape = Shape{2}})});
    model.compile({.optimizer = "sgd", .loss = "sparse_categorical_crossentropy"});
    Tensor labels(DType::s64, {30});
    Tensor weights(DType::f32, {30});
    for (size_t i = 0; i < 30; ++i) {
      labels.data<int64_t>()[i] = static_cast<int64_t>(i % 3);
      weights.data<float>()[i] = 1.0F + static_cast<float>(i % 3);
    }
    const Tensor x = x_.reshape({30, 2});
    FitOptions options{.batch_size = 7, .epochs = 2, .verbose = 0};
    if (by_class) {
      options.class_weight = {{0, 1}, {1, 2}, {2, 3}};
    } else {
      options.sample_weight = {weights};
    }
    model.fit(x, labels, options);
    return model.get_weights();
  };
  EXPECT_TRUE(trained(true)[0].identical(trained(false)[0]));
}

// Trap: with a seed, trainings repeat bit for bit.
TEST_F(FitInputTest, SeededTrainingsRepeatBitForBit) {
  std::vector<std::vector<Tensor>> results;
  for (int run = 0; run < 2; ++run) {
    Sequential model = make_model();
    model.fit(x_, y_, {.batch_size = 16, .epochs = 3, .verbose = 0});
    results.push_back(model.get_weights());
  }
  expect_identical(results[0], results[1]);
}

// Trap: models made in a loop do not fill the program's graph, nor do weights that are read and
// set.
TEST_F(FitInputTest, ModelsOwnTheirGraphs) {
  const size_t before = graph_.nodes().size();
  for (int i = 0; i < 3; ++i) {
    const Sequential model = make_model();
    model.fit(x_, y_, {.verbose = 0, .validation_split = 0.5});
    model.set_weights(model.get_weights());
    model.predict(x_);
    const size_t programs = model.trainer().graph().nodes().size();
    model.set_weights(model.get_weights());
    model.fit(x_, y_, {.verbose = 0, .validation_split = 0.5});
    EXPECT_EQ(model.trainer().graph().nodes().size(), programs);
  }
  EXPECT_EQ(graph_.nodes().size(), before);
}

TEST_F(FitInputTest, BatchesByHand) {
  Sequential model = make_model();
  Sequential same = make_model();
  const Scores scores = model.train_on_batch(x_, y_);
  const History history = same.fit(x_, y_, {.batch_size = 40, .verbose = 0, .shuffle = false});
  EXPECT_EQ(scores["loss"], history.history.at("loss")[0]);
  expect_identical(model.get_weights(), same.get_weights());
  EXPECT_NEAR(model.test_on_batch(x_, y_), same.evaluate(x_, y_, {.verbose = 0}), 1e-6);
  EXPECT_TRUE(model.predict_on_batch(x_).identical(same.predict(x_, {.batch_size = 40})));
}

// As Python programs write them: fit([a, b], y), loss={"out": "mse"}, validation_data=(x, y).
TEST_F(FitInputTest, FormsThatProgramsWrite) {
  set_random_seed(11);
  const KerasTensor a = Input({4}), b = Input({4});
  const KerasTensor h = layers::Dense(3, "tanh", {.input_shape = {4}})(layers::Add()({a, b}));
  const Model model(
      {a, b}, {layers::Dense(1, {.name = "first"})(h), layers::Dense(1, {.name = "second"})(h)});
  model.compile({.optimizer = "sgd", .loss = {"mse", "mae"}, .loss_weights = {1., 0.5}});
  const Scores listed = model.evaluate({x_, x_}, {y_, y_}, {.verbose = 0});
  model.compile({.optimizer = "sgd",
                 .loss = {{"second", "mae"}, {"first", "mse"}},
                 .loss_weights = {{"first", 1.0}, {"second", 0.5}}});
  const Scores named = model.evaluate({x_, x_}, {y_, y_}, {.verbose = 0});
  EXPECT_EQ(listed.values, named.values);
  EXPECT_NEAR(named["loss"], named["first_loss"] + 0.5 * named["second_loss"], 1e-6);

  const History history = model.fit({x_, x_}, {y_, y_},
                                    {.verbose = 0,
                                     .callbacks = {callbacks::LearningRateScheduler(
                                         [](int64_t epoch) { return epoch == 0 ? 0 : 0.1; })},
                                     .validation_data = {{x_, x_}, {y_, y_}}});
  EXPECT_NEAR(history.history.at("val_loss")[0], named["loss"], 1e-6);  // with a rate of 0

  const Sequential one = make_model();
  EXPECT_EQ(one.evaluate(x_, y_, 16)["loss"],
            one.evaluate(x_, y_, {.batch_size = 16, .verbose = 0})["loss"]);
  EXPECT_TRUE(one.predict(x_, 16).identical(one.predict(x_, {.batch_size = 16})));
  Tensor half(DType::f32, {40});
  for (int64_t i = 0; i < 40; ++i) half.data<float>()[i] = i < 20 ? 1 : 0;
  EXPECT_NEAR(one.evaluate(x_, y_, {.batch_size = 40, .verbose = 0, .sample_weight = half}),
              one.evaluate(x_.slice(0, 20), y_.slice(0, 20), {.verbose = 0}), 1e-6);
}

}  // namespace
}  // namespace systole::keras
