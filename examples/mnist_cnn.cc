// A CNN on MNIST with Keras: mnist_cnn.py of Keras's own examples, statement for statement.
//
//   mnist_cnn --data_dir DATA      DATA/mnist holds mnist.npz or the four IDX files
//
// Keras's program states a test accuracy of 99.25 % after 12 epochs.

#include <algorithm>
#include <cstdio>

#include "examples/support/keras_options.h"
#include "systole/base/command_line.h"
#include "systole/keras/keras.h"
#include "systole/keras/tpu/keras_support.h"
#include "systole/systole.h"

namespace {

namespace layers = st::keras::layers;
namespace mnist = st::keras::datasets::mnist;

struct Flags {
  examples::KerasOptions keras = {.data_dir = {}, .cores = 1, .epochs = 12};
  int64_t samples = 0;
};

// u8 [n, 28, 28] as f32 [n, 28, 28, 1] from 0 to 1.
st::Tensor pixels_of(const st::Tensor& images) {
  auto x = images.reshape({images.dim(0), 28, 28, 1}).cast(st::DType::f32).clone();
  for (float& pixel : x.data<float>()) pixel /= 255;
  return x;
}

void run(const Flags& flags) {
  const int64_t batch_size = 128;
  const int64_t num_classes = 10;
  st::set_random_seed(1);
  const auto strategy = examples::strategy_of(flags.keras);

  // the data, split between train and test sets
  auto [train, test] = mnist::load_data({.data_dir = flags.keras.data_dir});
  const int64_t samples =
      flags.samples == 0 ? train.x.dim(0) : std::min(flags.samples, train.x.dim(0));
  const auto x_train = pixels_of(train.x.slice(0, samples));
  const int64_t tests = std::min(samples, test.x.dim(0));
  const auto x_test = pixels_of(test.x.slice(0, tests));
  std::printf("%lld train samples\n%lld test samples\n", static_cast<long long>(x_train.dim(0)),
              static_cast<long long>(x_test.dim(0)));

  // convert class vectors to binary class matrices
  const auto y_train = st::keras::utils::to_categorical(train.y.slice(0, samples), num_classes);
  const auto y_test = st::keras::utils::to_categorical(test.y.slice(0, tests), num_classes);

  st::keras::Sequential model;
  model.add(layers::Conv2D(32, {3, 3}, {.activation = "relu", .input_shape = {{28, 28, 1}}}));
  model.add(layers::Conv2D(64, {3, 3}, {.activation = "relu"}));
  model.add(layers::MaxPooling2D({2, 2}));
  model.add(layers::Dropout(0.25));
  model.add(layers::Flatten());
  model.add(layers::Dense(128, {.activation = "relu"}));
  model.add(layers::Dropout(0.5));
  model.add(layers::Dense(num_classes, {.activation = "softmax"}));

  model.compile(
      {.optimizer = "adadelta", .loss = "categorical_crossentropy", .metrics = {"accuracy"}});
  const auto tpu_model = st::keras::tpu::keras_to_tpu_model(model, {.strategy = strategy});

  const auto history = tpu_model.fit(x_train, y_train,
                                     {.batch_size = batch_size,
                                      .epochs = flags.keras.epochs,
                                      .verbose = 1,
                                      .validation_data = {x_test, y_test}});
  const auto score = tpu_model.evaluate(x_test, y_test, {.verbose = 0});
  std::printf("Test loss: %.4f\n", score[0]);
  std::printf("Test accuracy: %.4f\n", score[1]);
  examples::print_best(history, "val_acc");
}

}  // namespace

int main(int argc, char** argv) {
  Flags flags;
  st::CommandLine line("mnist_cnn", "Trains a convolutional network on MNIST with Keras.");
  examples::add_keras_options(line, flags.keras, "mnist");
  line.option("--samples", flags.samples, "Digits to train and to test on; 0: all").show_default();
  line.on_run([&flags] { run(flags); });
  return line.run(argc, argv);
}
