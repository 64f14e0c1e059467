// A CNN on MNIST with Keras: mnist_cnn.py of Keras's own examples, statement for statement.
//
//   mnist_cnn --data_dir DATA      DATA/mnist holds mnist.npz or the four IDX files
//
// Keras's program states a test accuracy of 99.25 % after 12 epochs.

#include <cstdio>

#include "examples/support/mnist_data.h"
#include "systole/base/command_line.h"
#include "systole/keras/keras.h"
#include "systole/systole.h"

namespace {

namespace layers = st::keras::layers;
namespace mnist = st::keras::datasets::mnist;

struct Flags {
  std::string data_dir = examples::default_data_dir();
  int64_t cores = 1;
  int64_t epochs = 12;
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

  // the data, split between train and test sets
  auto [train, test] = mnist::load_data({.data_dir = flags.data_dir});
  const int64_t samples = flags.samples == 0 ? train.x.dim(0) : flags.samples;
  const auto x_train = pixels_of(train.x.slice(0, samples));
  const auto x_test = pixels_of(test.x);
  std::printf("%lld train samples\n%lld test samples\n", static_cast<long long>(x_train.dim(0)),
              static_cast<long long>(x_test.dim(0)));

  // convert class vectors to binary class matrices
  const auto y_train = st::keras::utils::to_categorical(train.y.slice(0, samples), num_classes);
  const auto y_test = st::keras::utils::to_categorical(test.y, num_classes);

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
  if (flags.cores > 1) model.place({.target = "local:v3-8", .replicas = flags.cores});

  model.fit(x_train, y_train,
            {.batch_size = batch_size,
             .epochs = flags.epochs,
             .verbose = 1,
             .validation_data = st::keras::Arrays{{x_test}, {y_test}}});
  const auto score = model.evaluate(x_test, y_test, {.verbose = 0});
  std::printf("Test loss: %.4f\n", score[0]);
  std::printf("Test accuracy: %.4f\n", score[1]);
}

}  // namespace

int main(int argc, char** argv) {
  Flags flags;
  st::CommandLine line("mnist_cnn", "Trains a convolutional network on MNIST with Keras.");
  line.option("--data_dir", flags.data_dir, "Holds mnist/").value_name("FOLDER").show_default();
  line.option("--cores", flags.cores, "Cores of a virtual TPU; 1: this machine").show_default();
  line.option("--epochs", flags.epochs).show_default();
  line.option("--samples", flags.samples, "Digits to train on; 0: all 60,000").show_default();
  line.on_run([&flags] { run(flags); });
  return line.run(argc, argv);
}
