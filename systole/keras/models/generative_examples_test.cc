// GANs and variational autoencoders as the examples of Keras write them, in small.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "systole/base/random.h"
#include "systole/base/testing/error_of.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/random_ops.h"
#include "systole/graph/core/graph.h"
#include "systole/keras/keras.h"

namespace systole::keras {
namespace {

using ::systole::testing::error_of;
using ::testing::HasSubstr;

class GenerativeExamplesTest : public ::testing::Test {
 protected:
  GenerativeExamplesTest() : scope_(graph_) { set_random_seed(1); }
  Graph graph_;
  GraphScope scope_;
};

Tensor noise(const Shape& shape, uint64_t seed) {
  Tensor t(DType::f32, shape);
  RandomStream stream(seed);
  for (float& x : t.data<float>()) x = static_cast<float>(stream.next_normal());
  return t;
}

Tensor filled(const Shape& shape, double value) { return Tensor::full(DType::f32, shape, value); }

bool equal(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (!a[i].identical(b[i])) return false;
  }
  return a.size() == b.size();
}

constexpr int64_t kLatent = 4;
constexpr int64_t kBatch = 8;

// One optimizer for all models; the discriminator is frozen inside of the combined model.
TEST_F(GenerativeExamplesTest, Gan) {
  const OptimizerSpec optimizer = optimizers::Adam(0.01, {.beta_1 = 0.5});
  const Sequential judge({layers::Flatten({.input_shape = {4, 4, 1}}), layers::Dense(8),
                          layers::LeakyReLU(0.2), layers::Dropout(0.3),
                          layers::Dense(1, "sigmoid")});
  const KerasTensor image = Input({4, 4, 1});
  const Model discriminator(image, judge(image));
  discriminator.compile(
      {.optimizer = optimizer, .loss = "binary_crossentropy", .metrics = {"accuracy"}});
  const Sequential maker({layers::Dense(8, {.input_shape = {kLatent}}), layers::LeakyReLU(0.2),
                          layers::BatchNormalization({.momentum = 0.8}),
                          layers::Dense(16, {.activation = "tanh"}), layers::Reshape({4, 4, 1})});
  const KerasTensor z = Input({kLatent});
  const Model generator(z, maker(z));
  const KerasTensor z2 = Input({kLatent});
  discriminator.set_trainable(false);
  const Model combined(z2, discriminator(generator(z2)));
  combined.compile({.optimizer = optimizer, .loss = "binary_crossentropy"});
  const Tensor valid = filled({kBatch, 1}, 1);
  const Tensor fake = filled({kBatch, 1}, 0);
  for (uint64_t step = 0; step < 3; ++step) {
    const auto d0 = discriminator.get_weights();
    const auto g0 = generator.get_weights();
    const Tensor images = generator.predict(noise({kBatch, kLatent}, step));
    discriminator.train_on_batch(noise({kBatch, 4, 4, 1}, step), valid);
    EXPECT_TRUE(std::isfinite(discriminator.train_on_batch(images, fake)["acc"]));
    const auto d1 = discriminator.get_weights();
    EXPECT_FALSE(equal(d0, d1));
    EXPECT_TRUE(equal(g0, generator.get_weights()));
    combined.train_on_batch(noise({kBatch, kLatent}, step + 9), valid);
    EXPECT_TRUE(equal(d1, discriminator.get_weights()));
    EXPECT_FALSE(equal(g0, generator.get_weights()));
  }
  EXPECT_EQ(optimizer->iterations()->value().item<int64_t>(), 9);
  combined.save("mem://gan.h5");
  const Tensor x = noise({4, kLatent}, 77);
  EXPECT_TRUE(load_model("mem://gan.h5").predict(x).identical(combined.predict(x)));
}

// mnist_acgan.py: two outputs, an image class as a second input, sample weights.
TEST_F(GenerativeExamplesTest, AuxiliaryClassifierGan) {
  constexpr int64_t kClasses = 3;
  const Sequential cnn(
      {layers::Conv2D(4, 3, {.strides = 2, .padding = "same", .input_shape = {6, 6, 1}}),
       layers::LeakyReLU(0.2), layers::Dropout(0.3), layers::Flatten()});
  const KerasTensor image = Input({6, 6, 1});
  const KerasTensors features = cnn(image);
  const Model discriminator(
      image, {layers::Dense(1, {.activation = "sigmoid", .name = "generation"})(features),
              layers::Dense(kClasses, {.activation = "softmax", .name = "auxiliary"})(features)});
  const std::vector<LossSpec> losses = {"binary_crossentropy", "sparse_categorical_crossentropy"};
  discriminator.compile(
      {.optimizer = optimizers::Adam({.lr = 0.01, .beta_1 = 0.5}), .loss = losses});
  const Sequential upsample(
      {layers::Dense(3 * 3 * 4, {.activation = "relu", .input_dim = kLatent}),
       layers::Reshape({3, 3, 4}),
       layers::Conv2DTranspose(2, 5, {.strides = 2, .padding = "same", .activation = "relu"}),
       layers::BatchNormalization(),
       layers::Conv2DTranspose(1, 5, {.strides = 1, .padding = "same", .activation = "tanh"})});
  const KerasTensor latent = Input({kLatent});
  const KerasTensor image_class = Input({1}, {.dtype = DType::s32});
  const KerasTensors embedded = layers::Embedding(
      kClasses, kLatent, {.embeddings_initializer = "glorot_normal"})(image_class);
  const Model generator({latent, image_class},
                        upsample(layers::multiply({latent, layers::Flatten()(embedded)})));
  discriminator.set_trainable(false);
  const KerasTensor latent2 = Input({kLatent});
  const KerasTensor class2 = Input({1}, {.dtype = DType::s32});
  const KerasTensors judged = discriminator(generator({latent2, class2}));
  const Model combined({latent2, class2}, {judged[0], judged[1]});
  combined.compile({.optimizer = optimizers::Adam({.lr = 0.01, .beta_1 = 0.5}), .loss = losses});

  const Tensor classes({kBatch, 1}, std::vector<int32_t>{0, 1, 2, 0, 1, 2, 0, 1});
  const Tensor made = generator.predict({noise({kBatch, kLatent}, 1), classes});
  EXPECT_EQ(made.shape(), (Shape{kBatch, 6, 6, 1}));
  const auto d0 = discriminator.get_weights();
  const Scores real = discriminator.train_on_batch(made, {filled({kBatch, 1}, 0.95), classes},
                                                   {filled({kBatch}, 1), filled({kBatch}, 0)});
  EXPECT_EQ(real.names, (std::vector<std::string>{"loss", "generation_loss", "auxiliary_loss"}));
  EXPECT_EQ(real["auxiliary_loss"], 0);
  const auto d1 = discriminator.get_weights();
  EXPECT_FALSE(equal(d0, d1));
  const auto g0 = generator.get_weights();
  combined.train_on_batch({noise({kBatch, kLatent}, 2), classes},
                          {filled({kBatch, 1}, 0.95), classes});
  EXPECT_TRUE(equal(d1, discriminator.get_weights()));
  EXPECT_FALSE(equal(g0, generator.get_weights()));
  EXPECT_TRUE(std::isfinite(
      discriminator.evaluate(made, {filled({kBatch, 1}, 0), classes}, {.verbose = 0})["loss"]));
}

// variational_autoencoder.py: add_loss(), compile() without a loss, fit() without targets.
TEST_F(GenerativeExamplesTest, VariationalAutoencoder) {
  constexpr int64_t kPixels = 6;
  const KerasTensor inputs = Input({kPixels}, {.name = "encoder_input"});
  const KerasTensors h = layers::Dense(5, "relu")(inputs);
  const KerasTensors z_mean = layers::Dense(2, {.name = "z_mean"})(h);
  const KerasTensors z_log_var = layers::Dense(2, {.name = "z_log_var"})(h);
  const KerasTensors z = layers::Lambda("sampling", [](const std::vector<Output>& a) {
    return a[0] + exp(a[1] * 0.5F) * random_normal(shape(a[0]));
  })({z_mean, z_log_var});
  const Model encoder(inputs, {z_mean, z_log_var, z}, {.name = "encoder"});
  const KerasTensor latent = Input({2}, {.name = "z_sampling"});
  const Model decoder(latent, layers::Dense(kPixels, "sigmoid")(layers::Dense(5, "relu")(latent)),
                      {.name = "decoder"});
  const KerasTensors outputs = decoder(encoder(inputs)[2]);
  const Model vae(inputs, outputs, {.name = "vae_mlp"});
  vae.add_loss(layers::Lambda("vae_loss", [](const std::vector<Output>& t) {
    const Output reconstruction = reduce_sum(square(t[0] - t[1]), {.axis = {-1}});
    const Output kl = -0.5F * reduce_sum(1.0F + t[3] - square(t[2]) - exp(t[3]), {.axis = {-1}});
    return reconstruction + kl;
  })({inputs, outputs, z_mean, z_log_var}));
  vae.compile({.optimizer = optimizers::Adam({.lr = 0.05})});
  EXPECT_EQ(vae.metrics_names(), std::vector<std::string>{"loss"});
  const Tensor x = filled({50, kPixels}, 0.9);
  const History history =
      vae.fit(x, {.batch_size = 16, .epochs = 30, .verbose = 0, .validation_data = {x, {}}});
  EXPECT_LT(history.history.at("loss").back(), 0.5 * history.history.at("loss").front());
  EXPECT_LT(history.history.at("val_loss").back(), history.history.at("val_loss").front());
  EXPECT_TRUE(std::isfinite(vae.evaluate(x, {.verbose = 0})["loss"]));
  EXPECT_TRUE(std::isfinite(vae.train_on_batch(x)["loss"]));
  EXPECT_EQ(encoder.predict_all(x)[0].shape(), (Shape{50, 2}));
  vae.save("mem://vae.h5");  // without the added loss, as Keras
  const Model again = load_model("mem://vae.h5");
  EXPECT_THAT(error_of([&] { again.train_on_batch(x); }),
              HasSubstr("The model was compiled without a loss"));
}

// The mean over the examples that count, whatever pads the batch and however it is cut.
TEST_F(GenerativeExamplesTest, AnAddedLossTrainsAsALossDoes) {
  const Tensor x = noise({10, 3}, 1);
  std::vector<std::vector<Tensor>> weights;
  std::vector<double> losses;
  for (const int variant : {0, 1, 2}) {
    clear_session();
    set_random_seed(2);
    const KerasTensor input = Input({3});
    const KerasTensors output = layers::Dense(3)(input);
    const Model model(input, output);
    if (variant == 2) model.place({"local:v3-8", 8});
    if (variant == 0) {
      model.compile({.optimizer = "sgd", .loss = "mse"});
    } else {
      model.add_loss(layers::Lambda([](const std::vector<Output>& t) {
        return reduce_mean(square(t[0] - t[1]), {.axis = {-1}});
      })({input, output}));
      model.compile({.optimizer = "sgd"});
    }
    const FitOptions options = {.batch_size = 7, .epochs = 2, .verbose = 0, .shuffle = false};
    const History history = variant == 0 ? model.fit(x, x, options) : model.fit(x, options);
    losses.push_back(history.history.at("loss").back());
    weights.push_back(model.get_weights());
  }
  for (const size_t i : {1, 2}) {
    EXPECT_NEAR(losses[i], losses[0], 1e-5);
    for (size_t k = 0; k < 9; ++k) {
      EXPECT_NEAR(weights[i][0].data<float>()[k], weights[0][0].data<float>()[k], 1e-5);
    }
  }
  const KerasTensor input = Input({3});
  const Model model(input, layers::Dense(1)(input));
  EXPECT_THAT(error_of([&] { model.add_loss(layers::Dense(1)(Input({3}))); }),
              HasSubstr("Graph disconnected"));
  model.add_loss(layers::Lambda([](const Output& v) { return reduce_sum(v); })(input));
  model.compile({.optimizer = "sgd"});
  EXPECT_THAT(error_of([&] { model.fit(x, {.verbose = 0}); }),
              HasSubstr("expected a value for each example, or their mean"));
}

}  // namespace
}  // namespace systole::keras
