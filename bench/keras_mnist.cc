// Keras: fit() on MNIST with its progress bar, beside TPUEstimator on the same network and batch.
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>

#include "bench/figures.h"
#include "bench/mnist_files.h"
#include "bench/mnist_train.h"
#include "systole/io/local/local_file_system.h"
#include "systole/io/tables/idx.h"
#include "systole/keras/keras.h"
#include "systole/keras/tpu/keras_support.h"
#include "systole/systole.h"

namespace bench {
namespace {

namespace keras = st::keras;
using SteadyClock = std::chrono::steady_clock;

constexpr MnistTraining kTraining{.batch = 1024, .iterations = 5, .loops = 5};
constexpr int64_t kEpochs = 2;  // that are timed
constexpr int64_t kEpochImages = kTraining.timed_images() / kEpochs;

// While it lives, stdout is a terminal that nobody sees, so that fit() draws its bar.
class HiddenTerminal {
 public:
  HiddenTerminal() : screen_(posix_openpt(O_RDWR | O_NOCTTY)) {
    if (screen_ < 0 || grantpt(screen_) != 0 || unlockpt(screen_) != 0) return;
    const int terminal = open(ptsname(screen_), O_WRONLY | O_NOCTTY);  // NOLINT(*-mt-unsafe)
    if (terminal < 0) return;
    std::fflush(stdout);
    before_ = dup(STDOUT_FILENO);
    dup2(terminal, STDOUT_FILENO);
    close(terminal);
    reader_ = std::thread([this] {
      char text[4096];
      while (read(screen_, text, sizeof text) > 0) {
      }
    });
  }
  ~HiddenTerminal() {
    std::fflush(stdout);
    if (before_ >= 0) {
      dup2(before_, STDOUT_FILENO);  // closes the terminal, which ends the reader
      close(before_);
      reader_.join();
    }
    if (screen_ >= 0) close(screen_);
  }
  HiddenTerminal(const HiddenTerminal&) = delete;
  HiddenTerminal& operator=(const HiddenTerminal&) = delete;
  bool open_for_output() const { return before_ >= 0; }

 private:
  int screen_;
  int before_ = -1;
  std::thread reader_;
};

class EpochEnds : public keras::Callback {
 public:
  void on_epoch_end(int64_t, keras::Logs&) override { ends.push_back(SteadyClock::now()); }
  std::vector<SteadyClock::time_point> ends;
};

// The network of mnist_train.cc.
keras::Sequential mnist_model() {
  namespace layers = keras::layers;
  keras::clear_session();
  keras::Sequential model;
  model.add(layers::Conv2D(
      32, {5, 5}, {.padding = "same", .activation = "relu", .input_shape = {{28, 28, 1}}}));
  model.add(layers::MaxPooling2D());
  model.add(layers::Conv2D(64, {5, 5}, {.padding = "same", .activation = "relu"}));
  model.add(layers::MaxPooling2D());
  model.add(layers::Flatten());
  model.add(layers::Dense(128, {.activation = "relu"}));
  model.add(layers::Dropout(0.4));
  model.add(layers::Dense(10, {.activation = "softmax"}));
  model.compile({.optimizer = keras::optimizers::SGD(0.05),
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"accuracy"}});
  return model;
}

// The first images of MNIST from -0.5 to 0.5, and their classes.
keras::Arrays mnist_arrays() {
  st::FileSystem& fs = st::local_file_system();
  st::Tensor x = st::read_idx(fs, mnist_folder() + "/train-images-idx3-ubyte")
                     .slice(0, kEpochImages)
                     .reshape({kEpochImages, 28, 28, 1})
                     .cast(st::DType::f32)
                     .clone();
  for (float& pixel : x.data<float>()) pixel = pixel / 255 - 0.5F;
  const st::Tensor y =
      st::read_idx(fs, mnist_folder() + "/train-labels-idx1-ubyte").slice(0, kEpochImages);
  return {{x}, {y.reshape({kEpochImages, 1}).cast(st::DType::f32)}, {}};
}

// From the end of the first epoch, which compiles, to the end of the last.
void fit_mnist(benchmark::State& state) {
  const keras::Arrays data = mnist_arrays();
  for (auto _ : state) {
    const HiddenTerminal terminal;
    if (!terminal.open_for_output()) return state.SkipWithError("no pseudo-terminal");
    const auto ends = std::make_shared<EpochEnds>();
    const auto model = keras::tpu::keras_to_tpu_model(
        mnist_model(),
        {.strategy = keras::tpu::TPUDistributionStrategy(st::TPUClusterResolver("local"))});
    model.fit(data.x, data.y,
              {.batch_size = kTraining.batch, .epochs = kEpochs + 1, .callbacks = {ends}});
    state.SetIterationTime(
        std::chrono::duration<double>(ends->ends.back() - ends->ends.front()).count());
  }
}

}  // namespace

void add_keras_mnist_figures() {
  add({.name = "keras.mnist_fit",
       .unit = "images/s",
       .work = static_cast<double>(kTraining.timed_images()),
       .ours = fit_mnist,
       .manual_time = true,
       .limit =
           [](benchmark::State& state) {
             for (auto _ : state) state.SetIterationTime(seconds_to_train_mnist(kTraining));
           },
       .repetitions = 5});
}

}  // namespace bench
