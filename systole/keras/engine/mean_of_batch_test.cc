// Losses that are the mean of a batch.
#include "systole/keras/engine/mean_of_batch.h"

#include <gmock/gmock.h>

#include <cmath>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/keras/keras.h"

namespace systole::keras {
namespace {

Tensor waves(const Shape& shape, float step) {
  Tensor tensor(DType::f32, shape);
  float at = 0;
  for (float& element : tensor.data<float>()) element = std::sin(at += step);
  return tensor;
}

TEST(MeanOfBatchTest, FindsWhatAMeanIsOf) {
  Graph graph;
  const GraphScope scope(graph);
  const Output x = placeholder(DType::f32, {4, 3}, "x");
  EXPECT_EQ(elements_of_mean(reduce_mean(x), 4), x);
  EXPECT_EQ(elements_of_mean(identity(reduce_mean(x)), -1), x);
  const Output narrow = elements_of_mean(cast(reduce_mean(x), DType::bf16), 4);
  EXPECT_EQ(narrow.type(), (TensorType{DType::bf16, {4, 3}}));
  for (const Output& other : {reduce_sum(x), reduce_mean(x, {.axis = {0}}), reduce_mean(x) * 2,
                              reduce_mean(placeholder(DType::f32, {5, 3}, "five"))}) {
    EXPECT_FALSE(elements_of_mean(other, 4).valid()) << other.name();
  }
}

// The last batch has 2 of 4 examples: an epoch is that of a loss with a value for each example.
TEST(MeanOfBatchTest, AMeanCountsWhatIsThere) {
  const Tensor x = waves({10, 3}, 0.7F);
  const Tensor y = waves({10, 2}, 1.3F);
  const auto mean = [](const Output& t, const Output& p) { return reduce_mean(square(p - t)); };
  std::vector<Tensor> first;
  std::vector<History> histories;
  for (const bool of_batch : {false, true}) {
    const Sequential model({layers::Dense(2, {.input_shape = Shape{3}, .name = "out"})});
    const LossSpec loss = of_batch ? LossSpec(mean) : LossSpec("mse");
    model.compile(
        {.optimizer = optimizers::SGD({.lr = 0.1}), .loss = loss, .metrics = {{"error", mean}}});
    if (of_batch) model.set_weights(first);
    first = model.get_weights();
    histories.push_back(model.fit(
        x, y,
        {.batch_size = 4, .epochs = 3, .verbose = 0, .validation_split = 0.3, .shuffle = false}));
  }
  for (const std::string key : {"loss", "val_loss", "error"}) {
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_NEAR(histories[1].history.at(key)[i], histories[0].history.at(key)[i], 1e-5) << key;
    }
  }
  EXPECT_NEAR(histories[1].history.at("error")[2], histories[1].history.at("loss")[2], 1e-5);
}

TEST(MeanOfBatchTest, AddedMeans) {
  const Tensor x = waves({10, 3}, 0.7F);
  std::vector<Tensor> first;
  std::vector<double> losses;
  for (const bool of_batch : {false, true}) {
    const KerasTensor input = Input({3});
    const Model model(input, layers::Dense(2)(input));
    model.add_loss(layers::Lambda([of_batch](const Output& v) {
      return of_batch ? reduce_mean(square(v)) : reduce_mean(square(v), {.axis = {-1}});
    })(model.outputs()[0]));
    model.compile({.optimizer = optimizers::SGD({.lr = 0.1})});
    if (of_batch) model.set_weights(first);
    first = model.get_weights();
    losses.push_back(model.fit(x, {.batch_size = 4, .epochs = 2, .verbose = 0, .shuffle = false})
                         .history.at("loss")[1]);
  }
  EXPECT_NEAR(losses[0], losses[1], 1e-5);
}

}  // namespace
}  // namespace systole::keras
