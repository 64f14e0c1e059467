// Trains a convolutional network on handwritten digits in a Session, as TensorFlow 1's tutorials
// do: placeholders, feeds, summaries, checkpoints. Reaches more than 90 % test accuracy after 400
// steps.
//
//   digits_session --log_dir /tmp/digits
//   systole inspect /tmp/digits --plot curves.svg     or tensorboard --logdir /tmp/digits

#include <cstdio>

#include "examples/support/digits_data.h"
#include "systole/base/command_line.h"
#include "systole/systole.h"

namespace {

struct Flags {
  std::string log_dir = "/tmp/systole_digits_session";
  std::string data_dir;
  int64_t steps = 400;
  int64_t batch_size = 64;
};

void train(const Flags& flags) {
  const examples::DigitsData digits =
      flags.data_dir.empty() ? examples::shipped_digits() : examples::load_digits(flags.data_dir);
  // The last possible start of a batch.
  const int64_t last = digits.train.size() - flags.batch_size;
  if (last <= 0) {
    throw st::invalid_argument("digits_session: --batch_size, got {}, expected less than {} digits",
                               flags.batch_size, digits.train.size());
  }
  st::set_random_seed(1);

  auto images = st::placeholder(st::uint8, {-1, 28, 28}, "images");
  auto labels = st::placeholder(st::int32, {-1}, "labels");
  auto keep_prob = st::placeholder(st::float32, {}, "keep_prob");

  auto x = st::expand_dims(st::cast(images, st::float32) / 255, -1);
  auto conv1 = st::layers::conv2d(x, {.filters = 16,
                                      .kernel_size = {5, 5},
                                      .padding = st::Padding::same,
                                      .activation = st::nn::relu});
  auto pool1 = st::layers::max_pooling2d(conv1, {.pool_size = {2, 2}, .strides = 2});
  auto conv2 = st::layers::conv2d(pool1, {.filters = 32,
                                          .kernel_size = {5, 5},
                                          .padding = st::Padding::same,
                                          .activation = st::nn::relu});
  auto pool2 = st::layers::max_pooling2d(conv2, {.pool_size = {2, 2}, .strides = 2});
  auto dense =
      st::layers::dense(st::layers::flatten(pool2), {.units = 128, .activation = st::nn::relu});
  auto logits = st::layers::dense(st::nn::dropout(dense, keep_prob), {.units = 10});

  auto loss = st::losses::sparse_softmax_cross_entropy({.labels = labels, .logits = logits});
  auto guesses = st::argmax(logits, {.axis = 1, .output_type = st::int32});
  auto accuracy = st::reduce_mean(st::cast(st::equal(guesses, labels), st::float32));
  auto train_step = st::train::AdamOptimizer(1e-3).minimize(loss);

  st::summary::scalar("cross_entropy", loss);
  st::summary::scalar("accuracy", accuracy);
  auto merged = st::summary::merge_all();

  st::Session sess;
  st::summary::FileWriter train_writer(flags.log_dir + "/train", &sess.graph());
  st::summary::FileWriter test_writer(flags.log_dir + "/test");
  st::train::Saver saver;
  sess.run(st::global_variables_initializer());

  for (int64_t step = 0; step <= flags.steps; ++step) {
    if (step % 50 == 0) {
      auto results =
          sess.run({merged, accuracy},
                   {{images, digits.test.images}, {labels, digits.test.labels}, {keep_prob, 1.0F}});
      test_writer.add_summary(results[0], step);
      std::printf("Accuracy at step %lld: %.4f\n", static_cast<long long>(step),
                  results[1].item<float>());
    }
    const int64_t i = step * flags.batch_size % last;
    auto results = sess.run({merged, train_step},
                            {{images, digits.train.images.slice(i, i + flags.batch_size)},
                             {labels, digits.train.labels.slice(i, i + flags.batch_size)},
                             {keep_prob, 0.5F}});
    train_writer.add_summary(results[0], step);
  }
  const std::string path =
      saver.save(sess, flags.log_dir + "/model.ckpt", {.global_step = flags.steps});
  std::printf("saved %s\n", path.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  st::CommandLine line("digits_session",
                       "Trains a convolutional network on handwritten digits through a Session.");
  Flags flags;
  line.option("--log_dir", flags.log_dir, "Folder of summaries and checkpoints")
      .value_name("FOLDER")
      .show_default();
  line.option("--data_dir", flags.data_dir,
              "Folder with mnist/*.gz, in place of the 1797 digits that come with the source")
      .value_name("FOLDER");
  line.option("--steps", flags.steps, "Training steps").show_default().positive();
  line.option("--batch_size", flags.batch_size, "Digits a step").show_default().between(1, 1000);
  line.on_run([&] { train(flags); });
  return line.run(argc, argv);
}
