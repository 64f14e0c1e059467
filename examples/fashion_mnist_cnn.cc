// Fashion-MNIST on a TPU with Keras: the program of TensorFlow's "Fashion MNIST with Keras and
// TPUs" (2018), statement for statement.
//
//   fashion_mnist_cnn --data_dir DATA     DATA/fashion-mnist holds the four IDX files

#include <algorithm>
#include <cstdio>

#include "examples/support/keras_options.h"
#include "systole/base/command_line.h"
#include "systole/base/random.h"
#include "systole/keras/keras.h"
#include "systole/keras/tpu/keras_support.h"
#include "systole/systole.h"

namespace {

namespace fashion_mnist = st::keras::datasets::fashion_mnist;
namespace layers = st::keras::layers;

struct Flags {
  examples::KerasOptions keras;
  int64_t steps_per_epoch = 100;
  int64_t batch_size = 1024;
  int64_t samples = 0;
};

// u8 [n, 28, 28] as f32 [n, 28, 28, 1].
st::Tensor with_channel(const st::Tensor& images) {
  return images.reshape({images.dim(0), 28, 28, 1}).cast(st::DType::f32);
}

// Three blocks of normalization, convolution and pooling, and two dense layers.
st::keras::Sequential make_model() {
  st::keras::Sequential model;
  model.add(layers::BatchNormalization({.input_shape = {{28, 28, 1}}}));
  for (const int64_t filters : {64, 128, 256}) {
    if (filters > 64) model.add(layers::BatchNormalization());
    model.add(layers::Conv2D(filters, {5, 5}, {.padding = "same", .activation = "elu"}));
    model.add(layers::MaxPooling2D({2, 2}, {2, 2}));
    model.add(layers::Dropout(0.25));
  }
  model.add(layers::Flatten());
  model.add(layers::Dense(256));
  model.add(layers::Activation("elu"));
  model.add(layers::Dropout(0.5));
  model.add(layers::Dense(10));
  model.add(layers::Activation("softmax"));
  model.summary();
  return model;
}

void run(const Flags& flags) {
  st::set_random_seed(1);
  const auto strategy = examples::strategy_of(flags.keras);
  auto [train, test] = fashion_mnist::load_data({.data_dir = flags.keras.data_dir});
  // add empty color dimension
  const auto x_train = with_channel(train.x);
  const int64_t all = test.x.dim(0);
  const int64_t samples = flags.samples == 0 ? all : std::clamp(flags.samples, int64_t{16}, all);
  const auto x_test = with_channel(test.x.slice(0, samples));
  const auto y_test = test.y.slice(0, samples);

  const auto model = make_model();
  auto tpu_model = st::keras::tpu::keras_to_tpu_model(model, {.strategy = strategy});
  tpu_model.compile({.optimizer = "adam",
                     .loss = "sparse_categorical_crossentropy",
                     .metrics = {"sparse_categorical_accuracy"}});

  // Runs of consecutive examples from a random place.
  const int64_t batch_size = std::min(flags.batch_size, x_train.dim(0) - 1);
  const auto train_gen = [&, &y_train = train.y, random = st::RandomStream(1)]() mutable {
    const auto places = static_cast<uint64_t>(x_train.dim(0) - batch_size);
    const auto offset = static_cast<int64_t>(random.next_below(places));
    return st::keras::Arrays{{x_train.slice(offset, offset + batch_size)},
                             {y_train.slice(offset, offset + batch_size)}};
  };
  const auto history =
      tpu_model.fit_generator(train_gen, {.epochs = flags.keras.epochs,
                                          .validation_data = {x_test, y_test},
                                          .steps_per_epoch = flags.steps_per_epoch});

  const auto cpu_model = tpu_model.sync_to_cpu();
  const auto predictions = cpu_model.predict(x_test.slice(0, 16));
  for (int64_t i = 0; i < 16; ++i) {
    const auto row = predictions.slice(i, i + 1);
    const auto scores = row.data<float>();
    const auto best = std::max_element(scores.begin(), scores.end()) - scores.begin();
    const auto label = static_cast<size_t>(y_test.as_double(i));
    std::printf("%s (%.0f%%), label %s\n",
                fashion_mnist::class_names().at(static_cast<size_t>(best)).c_str(),
                100 * static_cast<double>(scores[best]),
                fashion_mnist::class_names().at(label).c_str());
  }
  examples::print_best(history, "val_sparse_categorical_accuracy");
}

}  // namespace

int main(int argc, char** argv) {
  Flags flags;
  st::CommandLine line("fashion_mnist_cnn", "Trains a CNN on Fashion-MNIST with Keras on a TPU.");
  examples::add_keras_options(line, flags.keras, "fashion-mnist");
  line.option("--steps_per_epoch", flags.steps_per_epoch).positive().show_default();
  line.option("--batch_size", flags.batch_size).positive().show_default();
  line.option("--samples", flags.samples, "Test pictures, at least 16; 0: all 10,000")
      .show_default();
  line.on_run([&flags] { run(flags); });
  return line.run(argc, argv);
}
