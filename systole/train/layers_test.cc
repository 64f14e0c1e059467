// Layers: what they compute, and the names and shapes of their variables.
#include "systole/train/layers.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "systole/base/testing/error_of.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/session/session.h"
#include "systole/train/losses/losses.h"
#include "systole/train/optimizer.h"

namespace systole {
namespace {

using systole::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LayersTest : public ::testing::Test {
 protected:
  Tensor evaluate(const Output& x) {
    Session session;
    session.run(global_variables_initializer());
    return session.run(x);
  }
  std::vector<std::string> variables() {
    std::vector<std::string> names;
    for (const Variable& v : global_variables()) {
      names.push_back(v.name() + " " + v.type().to_string());
    }
    return names;
  }
  Output image(const Shape& shape, DType dtype = DType::f32) { return placeholder(dtype, shape); }

  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  GraphScope scope_{*graph_};
};

TEST_F(LayersTest, variables_have_tensorflows_names_and_shapes) {
  const Output x = image({-1, 28, 28, 1});
  Output h = layers::conv2d(
      x, {.filters = 32, .kernel_size = {5, 5}, .padding = Padding::same, .activation = relu});
  EXPECT_EQ(h.shape(), Shape({-1, 28, 28, 32}));
  h = layers::max_pooling2d(h, {.pool_size = {2, 2}, .strides = 2});
  EXPECT_EQ(h.shape(), Shape({-1, 14, 14, 32}));
  h = layers::conv2d(h,
                     {.filters = 8, .kernel_size = {3, 5}, .strides = {2, 1}, .use_bias = false});
  EXPECT_EQ(h.shape(), Shape({-1, 6, 10, 8}));
  h = layers::separable_conv2d(h, {.filters = 4, .kernel_size = 3, .depth_multiplier = 2});
  EXPECT_EQ(h.shape(), Shape({-1, 4, 8, 4}));
  h = layers::flatten(h);
  EXPECT_EQ(h.shape(), Shape({-1, 128}));
  h = layers::dense(h, {.units = 16, .activation = tanh});
  h = layers::dense(h, {.units = 10, .name = "logits"});
  EXPECT_THAT(
      variables(),
      ElementsAre("conv2d/kernel f32[5,5,1,32]", "conv2d/bias f32[32]",
                  "conv2d_1/kernel f32[3,5,32,8]", "separable_conv2d/depthwise_kernel f32[3,3,8,2]",
                  "separable_conv2d/pointwise_kernel f32[1,1,16,4]", "separable_conv2d/bias f32[4]",
                  "dense/kernel f32[128,16]", "dense/bias f32[16]", "logits/kernel f32[16,10]",
                  "logits/bias f32[10]"));
  EXPECT_EQ(trainable_variables().size(), 10U);
}

TEST_F(LayersTest, dense_computes_over_the_last_axis) {
  const Initializer ones = ones_initializer();
  const Output x = constant(Tensor::of<float>({1, 2, 2}, {1, 2, 3, 4}));
  const Output y = layers::dense(
      x, {.units = 1, .kernel_initializer = ones, .bias_initializer = ones, .name = "d"});
  EXPECT_TRUE(evaluate(y).identical(Tensor::of<float>({1, 2, 1}, {4, 8})));
}

TEST_F(LayersTest, channels_may_come_first) {
  const Output x = image({2, 3, 8, 8});
  const Output y = layers::conv2d(
      x, {.filters = 5, .kernel_size = 3, .data_format = "channels_first", .activation = relu});
  EXPECT_EQ(y.shape(), Shape({2, 5, 6, 6}));
  EXPECT_EQ(
      layers::average_pooling2d(y, {.pool_size = 2, .strides = 2, .data_format = "channels_first"})
          .shape(),
      Shape({2, 5, 3, 3}));
}

TEST_F(LayersTest, activations_are_values) {
  const Output x = constant(Tensor::of<float>({1, 2}, {-2, 4}));
  const layers::Activation none;
  EXPECT_EQ(none(x), x);
  const layers::Activation leaky = leaky_relu;
  EXPECT_FLOAT_EQ(static_cast<float>(evaluate(leaky(x)).as_double(0)), -0.4F);
  const layers::Activation twice = [](const Output& v) { return v * 2.0; };
  EXPECT_EQ(evaluate(twice(x)).as_double(1), 8);
  const layers::Activation probabilities = softmax;
  EXPECT_NEAR(evaluate(probabilities(x)).as_double(1), 1 / (1 + std::exp(-6.0)), 1e-6);
}

// TensorFlow's Conv2DBackpropInput takes sizes of int32 alone.
TEST_F(LayersTest, transposed_convolutions_of_any_batch_have_s32_sizes) {
  const Output x = placeholder(DType::f32, {kUnknown, 4, 4, 2}, "maps");
  layers::conv2d_transpose(x, {.filters = 3, .kernel_size = 3, .strides = 2});
  int found = 0;
  for (const auto& node : Graph::current().nodes()) {
    if (node->op_name() != "Conv2DBackpropInput") continue;
    ++found;
    EXPECT_EQ(node->input(0).dtype(), DType::s32);
  }
  EXPECT_EQ(found, 1);
}

TEST_F(LayersTest, variables_are_shared_on_request) {
  const Output x = image({-1, 4});
  layers::dense(x, {.units = 2, .name = "d"});
  EXPECT_THAT(error_of([&] { layers::dense(x, {.units = 2, .name = "d"}); }),
              HasSubstr("variable 'd/kernel', got it again"));
  layers::dense(x, {.units = 2, .name = "d", .reuse = Reuse::yes});
  for (int i = 0; i < 2; ++i) {
    const VariableScope scope("model", {.reuse = Reuse::auto_reuse});
    layers::dense(layers::dense(x, {.units = 3}), {.units = 2});
  }
  EXPECT_EQ(global_variables().size(), 6U);
}

TEST_F(LayersTest, regularizers_add_to_the_total_loss_once) {
  const Output x = image({-1, 2});
  const layers::DenseOptions options{.units = 2,
                                     .kernel_initializer = ones_initializer(),
                                     .kernel_regularizer = layers::l2_regularizer(0.5),
                                     .name = "d",
                                     .reuse = Reuse::auto_reuse};
  layers::dense(x, options);
  layers::dense(x, options);
  EXPECT_EQ(evaluate(losses::get_total_loss()).item<float>(), 1);  // 0.5 * 4 / 2
}

TEST_F(LayersTest, dropout_keeps_what_it_does_not_drop_in_the_mean) {
  const Output x = ones({1000});
  EXPECT_TRUE(
      evaluate(layers::dropout(x, {.rate = 0.4})).identical(Tensor::full(DType::f32, {1000}, 1)));
  const Tensor y = evaluate(layers::dropout(x, {.rate = 0.4, .seed = 1, .training = true}));
  int kept = 0;
  for (const float v : y.data<float>()) {
    if (v == 0) continue;
    EXPECT_FLOAT_EQ(v, 1 / 0.6F);
    ++kept;
  }
  EXPECT_NEAR(kept, 600, 60);
  EXPECT_THAT(error_of([&] { layers::dropout(x, {.rate = 1.0}); }),
              HasSubstr("dropout: rate, got 1, expected a number in [0, 1)"));
}

TEST_F(LayersTest, batch_normalization_trains_on_the_batch_and_keeps_averages) {
  const Output x = placeholder(DType::f32, {4, 1});
  const Output y = layers::batch_normalization(x, {.momentum = 0.9, .training = true});
  EXPECT_THAT(variables(),
              ElementsAre("batch_normalization/gamma f32[1]", "batch_normalization/beta f32[1]",
                          "batch_normalization/moving_mean f32[1]",
                          "batch_normalization/moving_variance f32[1]"));
  EXPECT_EQ(trainable_variables().size(), 2U);
  const Output loss = losses::mean_squared_error({.labels = ones({4, 1}), .predictions = y});
  const Operation train = GradientDescentOptimizer(0.1).minimize(loss);
  Session session;
  session.run(global_variables_initializer());
  const Tensor batch = Tensor::of<float>({4, 1}, {1, 2, 3, 6});  // mean 3, variance 3.5
  const Tensor normal = session.run(y, {{x, batch}});
  EXPECT_NEAR(normal.as_double(3), 3 / std::sqrt(3.501), 1e-5);
  session.run(train, {{x, batch}});
  const auto value = [&](size_t i) {
    return session.variable_value(global_variables()[i]).as_double(0);
  };
  EXPECT_NEAR(value(2), 0.1 * 3, 1e-6);
  EXPECT_NEAR(value(3), 0.9 + 0.1 * 3.5, 1e-6);
}

TEST_F(LayersTest, batch_normalization_uses_the_averages_when_not_training) {
  const Output x = constant(Tensor::of<float>({1, 2, 1, 1}, {1, 3}));
  const Output y = layers::batch_normalization(
      x, {.axis = 1,
          .gamma_initializer = constant_initializer(Tensor::of<float>({2}, {2, 4})),
          .moving_mean_initializer = ones_initializer()});
  const Tensor result = evaluate(y);
  EXPECT_EQ(result.as_double(0), 0);
  EXPECT_NEAR(result.as_double(1), 2 * 4 / std::sqrt(1.001), 1e-5);
}

// A sum over replicas in a branch that one of them does not take would wait for ever.
TEST_F(LayersTest, replicas_sum_whatever_a_run_decides) {
  const Output training = placeholder(DType::pred, {}, "training");
  const Output x = placeholder(DType::f32, {-1, 1});
  const Output y = layers::batch_normalization(x, {.training = training, .cross_replica = true});
  const auto sums = std::ranges::count_if(Graph::current().nodes(), [](const auto& node) {
    return node->op_name() == "CrossReplicaSum";
  });
  EXPECT_EQ(sums, 4);
  Session session;
  session.run(global_variables_initializer());
  const Tensor batch = Tensor::of<float>({4, 1}, {1, 2, 3, 6});
  EXPECT_NEAR(session.run(y, {{x, batch}, {training, false}}).as_double(3), 6 / std::sqrt(1.001),
              1e-5);
  EXPECT_NEAR(session.run(y, {{x, batch}, {training, true}}).as_double(3), 3 / std::sqrt(3.501),
              1e-5);
}

// is_training = tf.placeholder(tf.bool) of many programs.
TEST_F(LayersTest, a_run_may_decide_whether_it_trains) {
  const Output training = placeholder(DType::pred, {}, "training");
  const Output x = placeholder(DType::f32, {-1, 1});
  const Output dropped = layers::dropout(x, {.rate = 0.5, .seed = 1, .training = training});
  const Output y = layers::batch_normalization(x, {.momentum = 0.9, .training = training});
  const Operation train = GradientDescentOptimizer(0.1).minimize(reduce_sum(square(y)));
  Session session;
  session.run(global_variables_initializer());
  const Tensor batch = Tensor::of<float>({4, 1}, {1, 2, 3, 6});
  const auto moving_mean = [&] {
    return session.variable_value(global_variables()[2]).as_double(0);
  };
  EXPECT_TRUE(session.run(dropped, {{x, batch}, {training, false}}).identical(batch));
  EXPECT_FALSE(session.run(dropped, {{x, batch}, {training, true}}).identical(batch));
  EXPECT_NEAR(session.run(y, {{x, batch}, {training, false}}).as_double(3), 6 / std::sqrt(1.001),
              1e-5);
  EXPECT_NEAR(session.run(y, {{x, batch}, {training, true}}).as_double(3), 3 / std::sqrt(3.501),
              1e-5);
  session.run(train, {{x, batch}, {training, false}});
  EXPECT_EQ(moving_mean(), 0);
  session.run(train, {{x, batch}, {training, true}});
  EXPECT_NEAR(moving_mean(), 0.1 * 3, 1e-6);
  EXPECT_THAT(error_of([&] { layers::dropout(x, {.training = x}); }),
              HasSubstr("training, got f32[?,1], expected pred[], at layers_test.cc"));
  EXPECT_THAT(error_of([&] { layers::dropout(x, {.training = Output()}); }),
              HasSubstr("training, got no tensor, expected a pred scalar or a bool"));
}

// with tf.control_dependencies(update_ops): the slots' first values wait for no batch.
TEST_F(LayersTest, updates_may_be_control_dependencies) {
  const Output x = placeholder(DType::f32, {4, 1});
  const Output y = layers::batch_normalization(x, {.momentum = 0.9, .training = true});
  const auto minimize = [&] {
    const ControlDependencies after(Graph::current().collection<Operation>(graph_keys::update_ops));
    return MomentumOptimizer(0.1, 0.9).minimize(reduce_sum(square(y)));
  };
  const Operation train = minimize();
  Session session;
  session.run(global_variables_initializer());
  session.run(train, {{x, {{1}, {2}, {3}, {6}}}});
  EXPECT_NEAR(session.variable_value(global_variables()[2]).as_double(0), 0.1 * 3, 1e-6);
}

TEST_F(LayersTest, sequences_are_images_of_one_row) {
  const Output x = constant(Tensor::of<float>({1, 4, 1}, {1, 2, 4, 8}));
  const Output y =
      layers::conv1d(x, {.filters = 1, .kernel_size = 2, .kernel_initializer = ones_initializer()});
  EXPECT_THAT(evaluate(y).data<float>(), ElementsAre(3, 6, 12));
  EXPECT_THAT(variables(), ElementsAre("conv1d/kernel f32[2,1,1]", "conv1d/bias f32[1]"));
  const layers::Pooling1DOptions pairs{.pool_size = 2, .strides = 2};
  EXPECT_THAT(evaluate(layers::max_pooling1d(x, pairs)).data<float>(), ElementsAre(2, 8));
  EXPECT_THAT(evaluate(layers::average_pooling1d(x, pairs)).data<float>(), ElementsAre(1.5F, 6));
  const Output first = transpose(x, {.perm = {0, 2, 1}});
  const Output z = layers::conv1d(first, {.filters = 2,
                                          .kernel_size = 3,
                                          .padding = Padding::same,
                                          .data_format = "channels_first",
                                          .kernel_initializer = ones_initializer()});
  EXPECT_THAT(evaluate(z).data<float>(), ElementsAre(3, 7, 14, 12, 3, 7, 14, 12));
  EXPECT_EQ(
      layers::max_pooling1d(first, {.pool_size = 2, .strides = 2, .data_format = "channels_first"})
          .shape(),
      Shape({1, 1, 2}));
}

TEST_F(LayersTest, minimize_leaves_updates_of_other_models_alone) {
  const Output a = placeholder(DType::f32, {4, 1});
  const Output b = placeholder(DType::f32, {4, 1});
  const Output ya = layers::batch_normalization(a, {.training = true});
  layers::batch_normalization(b, {.training = true});
  const Operation train = GradientDescentOptimizer(0.1).minimize(reduce_sum(square(ya)));
  Session session;
  session.run(global_variables_initializer());
  session.run(train, {{a, Tensor::full(DType::f32, {4, 1}, 1)}});  // b is not needed
}

TEST_F(LayersTest, errors_name_the_layer_and_the_line) {
  const Output x = image({-1, 8, 8, 3});
  const Output ragged = image({-1, -1});
  EXPECT_THAT(error_of([&] { layers::conv2d(x, {.kernel_size = 3}); }),
              HasSubstr("conv2d: filters, got 0, expected at least 1"));
  EXPECT_THAT(error_of([&] { layers::conv2d(x, {.filters = 3}); }),
              HasSubstr("conv2d: kernel_size, got 0, expected at least 1"));
  EXPECT_THAT(error_of([&] { layers::conv2d(ragged, {.filters = 3, .kernel_size = 3}); }),
              HasSubstr("conv2d: inputs, got f32[?,?], expected rank 4, at "));
  EXPECT_THAT(error_of([&] { layers::dense(ragged, {.units = 3}); }),
              HasSubstr("dense: axis 1 of inputs, got f32[?,?], expected a known size"));
  EXPECT_THAT(error_of([&] {
                layers::max_pooling2d(x, {.pool_size = 2, .strides = 2, .data_format = "NHWC"});
              }),
              HasSubstr("data_format, got 'NHWC', expected 'channels_last'"));
  EXPECT_THAT(error_of([&] {
                layers::dense(image({2, 2}, DType::s32), {.units = 3});
              }),
              HasSubstr("layers_test.cc"));
}

}  // namespace
}  // namespace systole
