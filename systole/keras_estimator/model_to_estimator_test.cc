#include "systole/keras_estimator/model_to_estimator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "systole/base/random.h"
#include "systole/base/testing/error_of.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/graph/core/graph.h"
#include "systole/keras/keras.h"

namespace systole::keras::estimator {
namespace {

class ModelToEstimatorTest : public ::testing::Test {
 protected:
  ModelToEstimatorTest() : scope_(graph_) {
    set_random_seed(6);
    RandomStream stream(3);
    for (float& v : x_.data<float>()) v = static_cast<float>(stream.next_normal());
    for (size_t i = 0; i < 64; ++i) {
      y_.data<float>()[i] = x_.data<float>()[3 * i] > 0 ? 1.0F : 0.0F;
    }
  }
  static Sequential make_model() {
    Sequential model({layers::Dense(4, {.activation = "tanh", .input_shape = Shape{3}}),
                      layers::Dense(1, {.activation = "sigmoid"})});
    model.compile({.optimizer = "adam", .loss = "binary_crossentropy", .metrics = {"accuracy"}});
    return model;
  }
  InputFn input(bool repeat) const {
    return [x = x_, y = y_, repeat](const Params& params) -> InputFnResult {
      const Dataset all = Dataset::from_tensor_slices(Element::tuple({Element(x), Element(y)}));
      const auto size = params["batch_size"].as<int64_t>();
      return (repeat ? all.repeat() : all).batch(size, /*drop_remainder=*/repeat);
    };
  }

  Graph graph_;
  GraphScope scope_;
  Tensor x_{DType::f32, {64, 3}};
  Tensor y_{DType::f32, {64, 1}};
};

// Eight cores of the estimator against fit() on one.
TEST_F(ModelToEstimatorTest, TrainsAsFitDoes) {
  const systole::testing::TempFolder folder;
  const Sequential model = make_model();
  const std::vector<Tensor> before = model.get_weights();
  TPUEstimator estimator = model_to_estimator(model, {.model_dir = folder.path(),
                                                      .train_batch_size = 16,
                                                      .eval_batch_size = 24,
                                                      .predict_batch_size = 8});
  estimator.train(input(true), {.max_steps = 8});
  EXPECT_TRUE(model.get_weights()[0].identical(before[0]));
  const Evaluation result = estimator.evaluate(input(false));

  model.fit(x_, y_, {.batch_size = 16, .epochs = 2, .verbose = 0, .shuffle = false});
  const std::vector<Tensor> after = model.get_weights();
  const Tensor kernel = estimator.get_variable_value("dense/kernel");
  for (int64_t i = 0; i < kernel.num_elements(); ++i) {
    EXPECT_NEAR(kernel.as_double(i), after[0].as_double(i), 1e-5);
  }
  EXPECT_EQ(estimator.get_variable_value("optimizer/iterations").as_double(0), 8);
  const Scores scores = model.evaluate(x_, y_, {.verbose = 0});
  EXPECT_NEAR(result["loss"], scores["loss"], 1e-5);
  EXPECT_NEAR(result["acc"], scores["acc"], 1e-6);
  const Tensor expected = model.predict(x_);
  int64_t row = 0;
  for (const Nest<Tensor>& prediction : estimator.predict(input(false))) {
    EXPECT_NEAR(prediction["dense_1"].leaf().as_double(0), expected.as_double(row++), 1e-5);
  }
  EXPECT_EQ(row, 64);
}

// A tf.train optimizer applies the constraints in operations of its own.
TEST_F(ModelToEstimatorTest, AppliesConstraintsAfterATfOptimizer) {
  const systole::testing::TempFolder folder;
  const Sequential model({layers::Dense(1, {.activation = "sigmoid",
                                            .kernel_constraint = constraints::MaxNorm(0.25),
                                            .input_shape = Shape{3}})});
  model.compile({.optimizer = GradientDescentOptimizer(2.0), .loss = "binary_crossentropy"});
  TPUEstimator estimator =
      model_to_estimator(model, {.model_dir = folder.path(), .train_batch_size = 16});
  estimator.train(input(true), {.max_steps = 8});
  const Tensor kernel = estimator.get_variable_value("dense/kernel");
  double squares = 0;
  for (int64_t i = 0; i < 3; ++i) squares += kernel.as_double(i) * kernel.as_double(i);
  EXPECT_NEAR(squares, 0.25 * 0.25, 1e-5);
  EXPECT_EQ(estimator.get_variable_value("optimizer/iterations").as_double(0), 8);
}

TEST_F(ModelToEstimatorTest, WantsACompiledModel) {
  const Sequential model({layers::Dense(1, {.input_shape = Shape{3}})});
  EXPECT_THAT(systole::testing::error_of([&] { model_to_estimator(model); }),
              ::testing::HasSubstr("has not been compiled yet. Please compile first"));
}

}  // namespace
}  // namespace systole::keras::estimator
