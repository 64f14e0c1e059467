// An LSTM that tells good from bad film reviews: the Keras program of "TPU survival guide on Google
// Colaboratory" (2019), statement for statement.
//
//   imdb_lstm --data_dir DATA              DATA/imdb holds aclImdb_v1.tar.gz, aclImdb/ or imdb.npz
//   imdb_lstm --data_dir DATA --cores 1    on one core in place of the eight of a virtual TPU
//
// The guide reports a validation accuracy of 83 % after 20 epochs, and overfitting from the third
// or so on.

#include <algorithm>
#include <cstdio>

#include "examples/support/keras_options.h"
#include "systole/base/command_line.h"
#include "systole/keras/keras.h"
#include "systole/keras/tpu/keras_support.h"
#include "systole/systole.h"

namespace {

namespace imdb = st::keras::datasets::imdb;
namespace layers = st::keras::layers;
namespace sequence = st::keras::preprocessing::sequence;
namespace tpu = st::keras::tpu;

struct Flags {
  examples::KerasOptions keras = {.data_dir = {}, .cores = 8, .epochs = 20};
  int64_t samples = 0;
  std::string weights = "/tmp/tpu_model.h5";
};

// The first `samples` examples, or all for 0.
st::keras::Arrays first_of(const st::Tensor& x, const st::Tensor& y, int64_t samples) {
  const int64_t count = samples == 0 ? x.dim(0) : std::min(samples, x.dim(0));
  return {.x = {x.slice(0, count)}, .y = {y.slice(0, count)}, .sample_weights = {}};
}

void run(const Flags& flags) {
  st::set_random_seed(1);
  const auto strategy = examples::strategy_of(flags.keras);

  const int64_t top_words = 15000;
  const int64_t max_review_length = 250;
  const int32_t index_from = 3;
  const int64_t embedding_vector_length = 32;

  auto [train, test] = imdb::load_data(
      {.num_words = top_words, .index_from = index_from, .data_dir = flags.keras.data_dir});
  auto x_train = sequence::pad_sequences(train.x, max_review_length);
  auto x_test = sequence::pad_sequences(test.x, max_review_length);
  const auto training = first_of(x_train, train.y, flags.samples);
  const auto testing = first_of(x_test, test.y, flags.samples);

  st::keras::clear_session();
  st::keras::Sequential model;

  model.add(
      layers::Embedding(top_words, embedding_vector_length, {.input_length = max_review_length}));
  model.add(layers::LSTM(100));
  model.add(layers::Dense(1, {.activation = "sigmoid"}));

  model.summary();

  model.compile({.optimizer = "adam", .loss = "binary_crossentropy", .metrics = {"accuracy"}});
  const auto tpu_model = tpu::keras_to_tpu_model(model, {.strategy = strategy});

  const auto history =
      tpu_model.fit(training.x, training.y,
                    {.batch_size = 64, .epochs = flags.keras.epochs, .validation_data = testing});

  tpu_model.save_weights(flags.weights, {.overwrite = true});

  const auto scores = tpu_model.evaluate(testing.x, testing.y, {.batch_size = 128 * 8});
  std::printf("test loss %.4f, acc %.4f\n", scores["loss"], scores["acc"]);

  // On the TPU, six reviews need no multiple of eight here either.
  const auto cpu_model = tpu_model.sync_to_cpu();
  const auto y_pred = cpu_model.predict(testing.x[0].slice(0, 6));
  const auto word_index = imdb::get_word_index({.data_dir = flags.keras.data_dir});
  for (int64_t i = 0; i < y_pred.dim(0); ++i) {
    const std::string review = imdb::decode_review(test.x[i], word_index);
    std::printf("%.3f, label %d: %s\n", y_pred.as_double(i),
                static_cast<int>(testing.y[0].as_double(i)), review.substr(0, 70).c_str());
  }

  examples::print_best(history, "val_acc");
}

}  // namespace

int main(int argc, char** argv) {
  Flags flags;
  st::CommandLine line("imdb_lstm", "Trains an LSTM on the IMDB film reviews with Keras.");
  examples::add_keras_options(line, flags.keras, "imdb");
  line.option("--samples", flags.samples, "Reviews of each part; 0: all 25,000").show_default();
  line.option("--weights", flags.weights, "Where the weights are put")
      .value_name("FILE")
      .show_default();
  line.on_run([&flags] { run(flags); });
  return line.run(argc, argv);
}
