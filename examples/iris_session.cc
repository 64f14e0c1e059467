// A small MLP with one hidden layer, trained on the iris data set one example at a time through a
// Session: the program of "TPU without Estimator" (2018), statement for statement.
//
//   iris_session                 on this machine's CPU
//   iris_session --tpu local     on a virtual TPU: the post's second form
//   iris_session --report        also shows the predictions of the model

#include <chrono>
#include <cstdio>

#include "examples/support/classification.h"
#include "examples/support/iris_data.h"
#include "systole/base/command_line.h"
#include "systole/systole.h"

namespace {

constexpr int kRandomSeed = 42;

// Weight initialization
st::Variable init_weights(const st::Shape& shape) {
  auto weights = st::random_normal(shape, {.stddev = 0.1});
  return st::Variable(weights);
}

// Forward-propagation. yhat is not softmax since softmax_cross_entropy_with_logits() does that
// internally.
st::Output forwardprop(st::Output x, const st::Variable& w_1, const st::Variable& w_2) {
  auto h = st::sigmoid(st::matmul(x, w_1));
  auto yhat = st::matmul(h, w_2);
  return yhat;
}

struct Flags {
  std::string data = examples::default_iris_path();
  std::string tpu;
  int epochs = 100;
  uint64_t split_seed = 1;
  bool report = false;
};

void train(const Flags& flags) {
  const auto start = std::chrono::steady_clock::now();
  st::set_random_seed(kRandomSeed);
  const auto [train_x, test_x, train_y, test_y, species] =
      examples::load_iris(flags.data, flags.split_seed);

  // Layer's sizes
  const auto x_size = train_x.dim(1);  // Number of input nodes: 4 features and 1 bias
  const auto h_size = 256;             // Number of hidden nodes
  const auto y_size = train_y.dim(1);  // Number of outcomes (3 iris flowers)

  // Symbols
  auto x = st::placeholder("float", {-1, x_size});
  auto y = st::placeholder("float", {-1, y_size});

  // Weight initializations
  auto w_1 = init_weights({x_size, h_size});
  auto w_2 = init_weights({h_size, y_size});

  // Forward propagation
  auto yhat = forwardprop(x, w_1, w_2);
  auto predict = st::argmax(yhat, {.axis = 1});

  // Backward propagation
  auto cost = st::reduce_mean(st::softmax_cross_entropy_with_logits({.labels = y, .logits = yhat}));
  auto updates = st::GradientDescentOptimizer(0.01).minimize(cost);

  // Get the TPU's location
  const std::string target = st::find_tpu(flags.tpu);

  // Run SGD
  st::Session sess(target);
  if (!target.empty()) {
    std::printf("%s", sess.run(st::tpu::initialize_system()).item<std::string>().c_str());
  }
  auto init = st::global_variables_initializer();
  sess.run(init);

  for (int epoch = 0; epoch < flags.epochs; ++epoch) {
    // Train with each example
    for (int64_t i = 0; i < train_x.dim(0); ++i) {
      sess.run(updates, {{x, train_x.slice(i, i + 1)}, {y, train_y.slice(i, i + 1)}});
    }

    const double train_accuracy =
        examples::accuracy(train_y, sess.run(predict, {{x, train_x}, {y, train_y}}));
    const double test_accuracy =
        examples::accuracy(test_y, sess.run(predict, {{x, test_x}, {y, test_y}}));

    std::printf("Epoch = %d, train accuracy = %.2f%%, test accuracy = %.2f%%\n", epoch + 1,
                100. * train_accuracy, 100. * test_accuracy);
  }

  if (flags.report) {
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    const st::Tensor guesses = sess.run(predict, {{x, test_x}});
    std::printf("\n%s\n%s\n", examples::confusion_matrix(test_y, guesses, species).c_str(),
                examples::sample_predictions(test_x, test_y, guesses, species, 7).c_str());
    std::printf(
        "%.2f%% of %lld held-out flowers are named rightly; %lld steps and %lld programs took %.2f "
        "s\n",
        100. * examples::accuracy(test_y, guesses), static_cast<long long>(test_x.dim(0)),
        static_cast<long long>(sess.stats().runs), static_cast<long long>(sess.stats().programs),
        seconds.count());
  }
  if (!target.empty()) sess.run(st::tpu::shutdown_system());
}

}  // namespace

int main(int argc, char** argv) {
  st::CommandLine line("iris_session",
                       "Trains a multilayer perceptron on the iris data set, one example a step.");
  Flags flags;
  line.option("--data", flags.data, "CSV of 4 measurements and a species a row")
      .value_name("FILE")
      .show_default();
  line.option("--tpu", flags.tpu,
              "TPU to run on, as TPUClusterResolver takes it: local, grpc://host:port; by default "
              "TPU_NAME, or this machine")
      .value_name("TPU");
  line.option("--epochs", flags.epochs, "Passes over the training rows").show_default().positive();
  line.option("--split-seed", flags.split_seed, "Chooses the 50 flowers to test with")
      .show_default();
  line.flag("--report", flags.report, "Shows a confusion matrix and some predictions at the end");
  line.on_run([&] { train(flags); });
  return line.run(argc, argv);
}
