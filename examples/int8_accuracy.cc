// What 8-bit integers cost in accuracy: trains small networks with Keras, quantizes them after
// training, and prints both accuracies and both sizes.
//
//   int8_accuracy --data_dir DATA                      all networks: minutes on two cores
//   int8_accuracy --data_dir DATA --network mnist_mlp
//
// docs/quantization.md has the table. Integers lose at most 0.5 points on pictures and 1 point on
// film reviews.

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "examples/support/mnist_data.h"
#include "examples/support/pixel_models.h"
#include "systole/base/command_line.h"
#include "systole/keras/keras.h"
#include "systole/systole.h"

namespace {

namespace datasets = st::keras::datasets;
namespace layers = st::keras::layers;
using st::keras::Sequential;

struct Flags {
  std::string data_dir = examples::default_data_dir();
  std::vector<std::string> networks;
  std::string device = "cpu";
  int64_t epochs = 2;
  int64_t samples = 0;
};

struct Data {
  st::Tensor x_train, y_train, x_test, y_test;
};

// The first `samples` examples of each part, or all for 0.
Data first_of(Data data, int64_t samples) {
  const auto cut = [&](st::Tensor& x) {
    if (samples > 0) x = x.slice(0, std::min(samples, x.dim(0)));
  };
  for (st::Tensor* x : {&data.x_train, &data.y_train, &data.x_test, &data.y_test}) cut(*x);
  return data;
}

Data pictures(const datasets::DataSet& set) {
  return {examples::pixels_of(set.train.x), set.train.y, examples::pixels_of(set.test.x),
          set.test.y};
}

constexpr int64_t kWords = 15000;
constexpr int64_t kReviewWords = 250;

Data reviews(const Flags& flags) {
  const auto set = datasets::imdb::load_data({.num_words = kWords, .data_dir = flags.data_dir});
  const auto padded = [](const auto& lists) {
    return st::keras::preprocessing::sequence::pad_sequences(lists, kReviewWords);
  };
  return {padded(set.train.x), set.train.y, padded(set.test.x), set.test.y};
}

Sequential review_lstm() {
  Sequential model;
  model.add(layers::Embedding(kWords, 32, {.input_length = kReviewWords}));
  model.add(layers::LSTM(64));
  model.add(layers::Dense(1, {.activation = "sigmoid"}));
  model.compile({.optimizer = "adam", .loss = "binary_crossentropy", .metrics = {"accuracy"}});
  return model;
}

struct Network {
  const char* name;
  std::function<Data(const Flags&)> data;
  std::function<Sequential()> model;
};

std::vector<Network> all_networks() {
  const auto digits = [](const Flags& flags) {
    return pictures(datasets::mnist::load_data({.data_dir = flags.data_dir}));
  };
  const auto clothes = [](const Flags& flags) {
    return pictures(datasets::fashion_mnist::load_data({.data_dir = flags.data_dir}));
  };
  return {{"mnist_mlp", digits, examples::pixel_mlp},
          {"mnist_cnn", digits, examples::pixel_cnn},
          {"fashion_mnist_mlp", clothes, examples::pixel_mlp},
          {"fashion_mnist_cnn", clothes, examples::pixel_cnn},
          {"imdb_lstm", reviews, review_lstm}};
}

void measure(const Network& network, const Flags& flags) {
  st::keras::clear_session();
  st::set_random_seed(1);
  const Data data = first_of(network.data(flags), flags.samples);
  const Sequential model = network.model();
  model.fit(data.x_train, data.y_train, {.batch_size = 128, .epochs = flags.epochs, .verbose = 0});
  const double floats =
      examples::percent_right(model.predict(data.x_test, {.batch_size = 100}), data.y_test);
  const auto int8 = st::keras::quantize_model(
      model, data.x_train.slice(0, std::min<int64_t>(500, data.x_train.dim(0))),
      {.device = flags.device, .batch_size = 100});
  const double integers = examples::percent_right(int8.predict(data.x_test), data.y_test);
  const st::quantize::Report& report = int8.report();
  fmt::print("| {} | {:.2f} | {:.2f} | {:+.2f} | {} | {} | {:.2f} |\n", network.name, floats,
             integers, integers - floats, report.constant_bytes_before, report.constant_bytes_after,
             static_cast<double>(report.constant_bytes_before) /
                 static_cast<double>(report.constant_bytes_after));
  std::fflush(stdout);
}

void run(const Flags& flags) {
  fmt::print(
      "| network | float, % | int8, % | difference | bytes before | bytes after | smaller by |\n"
      "|---|---|---|---|---|---|---|\n");
  for (const Network& network : all_networks()) {
    const bool wanted = flags.networks.empty() ||
                        std::ranges::find(flags.networks, network.name) != flags.networks.end();
    if (wanted) measure(network, flags);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Flags flags;
  st::CommandLine line("int8_accuracy",
                       "Compares networks on floating-point numbers and on 8-bit integers.");
  line.option("--data_dir", flags.data_dir, "Holds mnist/, fashion-mnist/ and imdb/")
      .value_name("FOLDER")
      .show_default();
  line.option("--network", flags.networks,
              "mnist_mlp, mnist_cnn, fashion_mnist_mlp, fashion_mnist_cnn or imdb_lstm; by default "
              "all")
      .value_name("NAME")
      .one_each();
  line.option("--device", flags.device, "Backend of the integers: cpu or tpu_v1, with equal bits")
      .show_default();
  line.option("--epochs", flags.epochs).positive().show_default();
  line.option("--samples", flags.samples, "Examples of each part; 0: all").show_default();
  line.on_run([&flags] { run(flags); });
  return line.run(argc, argv);
}
