// A language model of characters on a TPU with Keras: the program of TensorFlow's "Predict
// Shakespeare with Cloud TPUs and Keras" (2018), statement for statement.
//
//   shakespeare_lstm --data_dir DATA      DATA/tinyshakespeare holds input.txt
//
// The full program reads 100 million characters. docs/keras_examples.md shows a smaller one.

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "examples/support/keras_options.h"
#include "systole/base/command_line.h"
#include "systole/base/random.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/keras/keras.h"
#include "systole/keras/tpu/keras_support.h"
#include "systole/systole.h"

namespace {

namespace layers = st::keras::layers;

struct Flags {
  examples::KerasOptions keras;
  int64_t steps_per_epoch = 100;
  int64_t batch_size = 1024;
  int64_t units = 512;
  std::string weights = "/tmp/bard.h5";
};

constexpr int64_t kSequence = 100;

// The codes of the characters, without any above 254.
std::vector<int32_t> transform(const std::string& text) {
  std::vector<int32_t> codes;
  for (const char character : text) {
    const auto code = static_cast<unsigned char>(character);
    if (code < 255) codes.push_back(code);
  }
  return codes;
}

// A generator of (source, target) arrays for training.
class TrainingGenerator {
 public:
  TrainingGenerator(std::vector<int32_t> source, int64_t seq_len, int64_t batch_size)
      : source_(std::move(source)), seq_len_(seq_len), batch_size_(batch_size) {
    if (static_cast<int64_t>(source_.size()) <= seq_len) {
      throw st::invalid_argument("input.txt: got {} characters, expected more than {}",
                                 source_.size(), seq_len);
    }
  }

  st::keras::Arrays operator()() {
    st::Tensor x(st::DType::s32, {batch_size_, seq_len_});
    // Losses of class numbers take an empty final dimension, too.
    st::Tensor y(st::DType::s32, {batch_size_, seq_len_, 1});
    const auto places = source_.size() - static_cast<size_t>(seq_len_);
    const auto length = static_cast<size_t>(seq_len_);
    for (size_t row = 0; row < static_cast<size_t>(batch_size_); ++row) {
      const auto at = source_.begin() + static_cast<int64_t>(random_.next_below(places));
      std::copy_n(at, length, x.data<int32_t>().begin() + static_cast<int64_t>(row * length));
      std::copy_n(at + 1, length, y.data<int32_t>().begin() + static_cast<int64_t>(row * length));
    }
    return {{x}, {y}};
  }

 private:
  std::vector<int32_t> source_;
  int64_t seq_len_;
  int64_t batch_size_;
  st::RandomStream random_{1};
};

// Language model: predicts the next character from the current one.
st::keras::Model lstm_model(int64_t units, int64_t seq_len, int64_t batch_size, bool stateful) {
  const auto source = st::keras::Input(
      {seq_len}, {.batch_size = batch_size, .name = "seed", .dtype = st::DType::s32});

  const auto embedding = layers::Embedding(256, units)(source);
  const auto lstm_1 =
      layers::LSTM(units, {.return_sequences = true, .stateful = stateful})(embedding);
  const auto lstm_2 = layers::LSTM(units, {.return_sequences = true, .stateful = stateful})(lstm_1);
  const auto predicted_char =
      layers::TimeDistributed(layers::Dense(256, {.activation = "softmax"}))(lstm_2);
  st::keras::Model model(source, predicted_char);
  model.compile({.optimizer = st::RMSPropOptimizer(0.01),
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"sparse_categorical_accuracy"}});
  return model;
}

// A class drawn with these probabilities.
int32_t choice(std::span<const float> probabilities, st::RandomStream& random) {
  const double total = std::accumulate(probabilities.begin(), probabilities.end(), 0.0);
  double left = random.next_uniform() * total;
  for (size_t i = 0; i + 1 < probabilities.size(); ++i) {
    left -= probabilities[i];
    if (left < 0) return static_cast<int32_t>(i);
  }
  return static_cast<int32_t>(probabilities.size()) - 1;
}

// Prints texts that continue a seed.
void predict(const Flags& flags) {
  const int64_t batch_size = 5;
  const int64_t predict_len = 250;

  // A stateful model has a fixed batch size. It reads one character at a time and predicts the
  // next.
  const auto prediction_model = lstm_model(flags.units, 1, batch_size, /*stateful=*/true);
  prediction_model.load_weights(flags.weights);

  // The seed is the same for all texts.
  const auto seed = transform("Looks it not like the king?  Verily, we must go! ");
  const auto column = [&](int32_t code) {
    return st::Tensor::full(st::DType::s32, {batch_size, 1}, code);
  };

  // First, the seed primes the state of the model.
  prediction_model.reset_states();
  for (size_t i = 0; i + 1 < seed.size(); ++i)
    prediction_model.predict(column(seed[i]), {.batch_size = batch_size});

  // Now the predictions accumulate.
  st::RandomStream random(2);
  std::vector<std::string> texts(batch_size);
  auto last_word = column(seed.back());
  for (int64_t i = 0; i < predict_len; ++i) {
    const auto next_probits = prediction_model.predict(last_word, {.batch_size = batch_size});
    // Sample from the output distribution.
    auto next = st::Tensor(st::DType::s32, {batch_size, 1});
    for (int64_t row = 0; row < batch_size; ++row) {
      const int32_t code =
          choice(next_probits.data<float>().subspan(static_cast<size_t>(row) * 256, 256), random);
      next.data<int32_t>()[row] = code;
      texts[row] += static_cast<char>(code);
    }
    last_word = next;
  }
  for (int64_t row = 0; row < batch_size; ++row) {
    std::printf("PREDICTION %d\n\n%s\n\n", static_cast<int>(row), texts[row].c_str());
  }
}

void run(const Flags& flags) {
  st::set_random_seed(1);
  const auto strategy = examples::strategy_of(flags.keras);
  if (flags.batch_size % flags.keras.cores != 0) {
    throw st::invalid_argument("--batch_size: got {}, expected a multiple of {} cores",
                               flags.batch_size, flags.keras.cores);
  }
  const auto source = transform(st::read_file(st::default_file_system(),
                                              flags.keras.data_dir + "/tinyshakespeare/input.txt"));

  st::keras::clear_session();
  const auto training_model =
      lstm_model(flags.units, kSequence, flags.batch_size / flags.keras.cores,
                 /*stateful=*/false);
  training_model.summary();
  const auto tpu_model = st::keras::tpu::keras_to_tpu_model(training_model, {.strategy = strategy});

  const auto history = tpu_model.fit_generator(
      TrainingGenerator(source, kSequence, flags.batch_size),
      {.epochs = flags.keras.epochs, .steps_per_epoch = flags.steps_per_epoch});
  tpu_model.save_weights(flags.weights, {.overwrite = true});
  if (history.epoch.empty()) return;  // stopped by Ctrl-C

  predict(flags);
  examples::print_best(history, "loss");
}

}  // namespace

int main(int argc, char** argv) {
  Flags flags;
  st::CommandLine line("shakespeare_lstm",
                       "Trains a language model of characters on Shakespeare's plays with Keras.");
  examples::add_keras_options(line, flags.keras, "tinyshakespeare");
  line.option("--steps_per_epoch", flags.steps_per_epoch).positive().show_default();
  line.option("--batch_size", flags.batch_size, "Sequences of 100 characters in a step")
      .positive()
      .show_default();
  line.option("--units", flags.units, "Size of the embedding and of each LSTM")
      .positive()
      .show_default();
  line.option("--weights", flags.weights, "Where the weights are put")
      .value_name("FILE")
      .show_default();
  line.on_run([&flags] { run(flags); });
  return line.run(argc, argv);
}
