#include "systole/keras/quantized/quantized_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "systole/base/random.h"
#include "systole/base/testing/error_of.h"
#include "systole/keras/keras.h"

namespace systole::keras {
namespace {

using systole::testing::error_of;
using ::testing::HasSubstr;

class QuantizedModelTest : public ::testing::Test {
 protected:
  QuantizedModelTest() : scope_(graph_) {
    set_random_seed(5);
    RandomStream stream(3);
    for (float& v : x_.data<float>()) v = static_cast<float>(stream.next_normal());
  }

  static Sequential make_network() {
    return Sequential(
        {layers::Conv2D(9, {3, 3}, {.activation = "relu", .input_shape = Shape{8, 8, 2}}),
         layers::MaxPooling2D({2, 2}), layers::BatchNormalization(), layers::Flatten(),
         layers::Dropout(0.25), layers::Dense(4, {.activation = "softmax"})});
  }

  Graph graph_;
  GraphScope scope_;
  Tensor x_{DType::f32, {50, 8, 8, 2}};
};

TEST_F(QuantizedModelTest, PredictsEqualBitsOnMachineAndCpu) {
  const Sequential model = make_network();
  const Tensor real = model.predict(x_);
  const QuantizedModel machine = quantize_model(model, x_, {.batch_size = 16});
  const Tensor got = machine.predict(x_);
  EXPECT_EQ(got.shape(), (Shape{50, 4}));
  const QuantizeModelOptions on_cpu{.device = "cpu", .batch_size = 16};
  EXPECT_TRUE(got.identical(quantize_model(model, x_, on_cpu).predict(x_)));
  double largest = 0;
  for (int64_t i = 0; i < got.num_elements(); ++i)
    largest = std::max(largest, std::abs(got.as_double(i) - real.as_double(i)));
  EXPECT_LT(largest, 0.05);
  EXPECT_GT(largest, 0);
  EXPECT_EQ(machine.report().layers.size(), 2U) << machine.report().to_string();
  // The weights at the time of quantization.
  model.set_weights(std::vector<Tensor>(model.get_weights()));
  EXPECT_TRUE(got.identical(machine.predict(x_)));
}

TEST_F(QuantizedModelTest, TwoInputsInTheModelsOrder) {
  const KerasTensor b = Input({3}, {.name = "b"});
  const KerasTensor a = Input({5}, {.name = "a"});
  const Model model({b, a}, layers::Dense(2)(layers::Concatenate()({b, a})));
  const std::vector<Tensor> x = {x_.reshape({6400}).slice(0, 48 * 3).reshape({48, 3}),
                                 x_.reshape({6400}).slice(0, 48 * 5).reshape({48, 5})};
  const Tensor got = quantize_model(model, x, {.batch_size = 16}).predict(x);
  const Tensor real = model.predict(x);
  for (int64_t i = 0; i < got.num_elements(); ++i)
    EXPECT_NEAR(got.as_double(i), real.as_double(i), 0.15);
}

TEST_F(QuantizedModelTest, NamesWhatIsWrong) {
  const Sequential model = make_network();
  EXPECT_EQ(error_of([&] { quantize_model(model, x_.slice(0, 10)); }),
            "INVALID_ARGUMENT: calibration: examples, got 10, expected at least 32, one batch");
  EXPECT_THAT(error_of([&] {
                quantize_model(model, Tensor::zeros(DType::f32, {40, 8, 2}));
              }),
              HasSubstr("Error when checking input"));
  EXPECT_THAT(error_of([&] {
                quantize_model(Sequential({layers::Dense(3)}), Tensor::zeros(DType::f32, {40, 8}))
                    .predict(Tensor::zeros(DType::f32, {40, 7}));
              }),
              HasSubstr("Error when checking input"));
  EXPECT_THAT(error_of([&] { Sequential({layers::Dense(3)}).inference_module(4); }),
              HasSubstr("input shape, got none"));
}

}  // namespace
}  // namespace systole::keras
