// The program of `make quickstart`: trains a convolutional network to read handwritten digits on a
// virtual TPU of 8 cores, then evaluates it, predicts, exports it, and serves the export.
//
//   quickstart                       MNIST if its files are found, else the digits of examples/data
//   quickstart --data_dir <folder>   MNIST of <folder>/mnist/*.gz
//   quickstart --small               the digits of examples/data
//
// Reaches a test accuracy of 98 % on MNIST.

#include <cstdio>

#include "examples/support/classification.h"
#include "examples/support/digits_data.h"
#include "examples/support/guess_sheet.h"
#include "examples/support/stopwatch.h"
#include "systole/base/command_line.h"
#include "systole/base/log.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/io/images/image.h"
#include "systole/systole.h"
#include "systole/train/loop/progress_hook.h"
#include "systole/train/saved_model.h"
#include "systole/train/saved_model_builder.h"

namespace {

struct Flags {
  std::string data_dir;
  std::string out = "/tmp/systole_quickstart";
  int64_t batch_size = 128;
  int64_t train_steps = 400;
  int64_t shown = 96;
  bool small = false;
};

// Two convolutions and two dense layers.
st::TPUEstimatorSpec model_fn(const st::Nest<st::Output>& features,
                              const st::Nest<st::Output>& labels, st::Mode mode,
                              const st::Params&) {
  auto x =
      st::reshape(st::cast(features["image"], st::DType::f32) * (1. / 255) - 0.5, {-1, 28, 28, 1});
  for (const int64_t filters : {32, 64}) {
    x = st::layers::conv2d(x, {.filters = filters,
                               .kernel_size = {5, 5},
                               .padding = st::Padding::same,
                               .activation = st::relu});
    x = st::layers::max_pooling2d(x, {.pool_size = {2, 2}, .strides = 2});
  }
  x = st::layers::dense(st::layers::flatten(x), {.units = 128, .activation = st::relu});
  x = st::layers::dropout(x, {.rate = 0.4, .training = mode == st::ModeKeys::TRAIN});
  auto logits = st::layers::dense(x, {.units = 10});
  auto classes = st::argmax(logits, {.axis = 1, .output_type = st::DType::s32});
  if (mode == st::ModeKeys::PREDICT) {
    return {.mode = mode,
            .predictions = st::Nest<st::Output>::dict(
                {{"classes", classes}, {"probabilities", st::softmax(logits)}})};
  }
  auto loss = st::losses::sparse_softmax_cross_entropy({.labels = labels, .logits = logits});
  auto optimizer = st::CrossShardOptimizer(st::AdamOptimizer(0.001));
  return {.mode = mode,
          .loss = loss,
          .train_op = optimizer.minimize(loss, {.global_step = st::get_global_step()}),
          .eval_metrics = {
              [](const st::Output& l, const st::Output& p) -> st::MetricMap {
                return {{"accuracy", st::metrics::accuracy({.labels = l, .predictions = p})},
                        {"confusion", st::metrics::confusion_matrix(
                                          {.labels = l, .predictions = p, .num_classes = 10})}};
              },
              {labels, classes}}};
}

st::Dataset dataset_of(const examples::Digits& digits) {
  return st::Dataset::from_tensor_slices(
      st::Element::tuple({st::Element::dict({{"image", digits.images}}), digits.labels}));
}

// Draws the first `count` test digits with the predictions of the network.
void predict(st::TPUEstimator& estimator, const examples::Digits& test, int64_t count,
             const std::string& path) {
  const auto shown = std::min(count, test.size());
  auto guesses = st::Tensor::zeros(st::DType::s32, {shown});
  int64_t at = 0;
  int64_t right = 0;
  for (const auto& prediction : estimator.predict([&](const st::Params& params) {
         return dataset_of(test).take(shown).batch(params["batch_size"]);
       })) {
    const auto guess = prediction["classes"].leaf().item<int32_t>();
    right += guess == test.labels.data<int32_t>()[at];
    guesses.data<int32_t>()[at++] = guess;
  }
  const st::Tensor sheet =
      examples::guess_sheet(test.images.slice(0, shown), test.labels.slice(0, shown), guesses, 12);
  st::write_file_atomically(st::default_file_system(), path, st::encode_png(sheet));
  std::printf("Predicted %lld test digits, %lld rightly; wrong guesses are framed: %s\n",
              static_cast<long long>(shown), static_cast<long long>(right), path.c_str());
}

// Loads the export as a server does, and predicts one digit.
void serve(const std::string& directory, const examples::Digits& test) {
  st::SavedModel model(directory);
  const auto answer = model.predict({{"image", test.images.slice(0, 1)}});
  const auto digit = answer.at("classes").item<int32_t>();
  std::printf(
      "Served from the export: the first test digit is %d with probability %.4f (truth: %d)\n",
      digit, answer.at("probabilities").data<float>()[digit], test.labels.data<int32_t>()[0]);
}

void train(st::TPUEstimator& estimator, const examples::Digits& digits, const Flags& flags) {
  std::printf("Training on a virtual TPU of 8 cores: %lld steps of %lld digits\n",
              static_cast<long long>(flags.train_steps), static_cast<long long>(flags.batch_size));
  std::fflush(stdout);
  estimator.train(
      [&](const st::Params& params) {
        return dataset_of(digits)
            .shuffle(10000, {.seed = 1})
            .repeat()
            .batch(params["batch_size"], /*drop_remainder=*/true);
      },
      {.max_steps = flags.train_steps,
       .hooks = {std::make_shared<st::ProgressHook>(
           st::ProgressHook::Options{.last_step = flags.train_steps})}});
}

void evaluate(st::TPUEstimator& estimator, const examples::Digits& digits) {
  const st::Evaluation result = estimator.evaluate(
      [&](const st::Params& params) { return dataset_of(digits).batch(params["batch_size"]); });
  const std::vector<std::string> names = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
  std::printf("%s\naccuracy %.2f%% of %lld test digits\n",
              examples::confusion_table(result.tensor("confusion"), names).c_str(),
              100 * result["accuracy"], static_cast<long long>(result.examples()));
}

void run(const Flags& flags) {
  examples::Stopwatch watch;
  const examples::DigitsData digits =
      flags.small ? examples::shipped_digits() : examples::load_digits(flags.data_dir);
  std::printf("%s: %lld digits to train with, %lld to test with\n", digits.source.c_str(),
              static_cast<long long>(digits.train.size()),
              static_cast<long long>(digits.test.size()));
  watch.lap("data");

  const std::string folder = st::timestamped_export_directory(st::default_file_system(), flags.out);
  st::TPUEstimator estimator({.model_fn = model_fn,
                              .model_dir = folder + "/model",
                              .config = {.tf_random_seed = 42,
                                         .save_summary_steps = 20,
                                         .tpu_config = {.iterations_per_loop = 10}},
                              .train_batch_size = flags.batch_size,
                              .eval_batch_size = 1000,
                              .predict_batch_size = flags.batch_size});
  train(estimator, digits.train, flags);
  if (st::StopSignals::received()) {
    // The next run continues from the checkpoint.
    throw st::ExitStatus{st::StopSignals::exit_code()};
  }
  watch.lap("training");
  evaluate(estimator, digits.test);
  watch.lap("evaluation");
  predict(estimator, digits.test, flags.shown, folder + "/guesses.png");
  watch.lap("prediction");
  const std::string exported = estimator.export_saved_model(
      folder + "/export", st::estimator::build_raw_serving_input_receiver_fn(
                              {{"image", {st::DType::u8, {st::kUnknown, 28, 28}}}}));
  std::printf("Exported a SavedModel: %s\n", exported.c_str());
  watch.lap("export");
  serve(exported, digits.test);
  watch.lap("serving");
  const char* model_dir = estimator.model_dir().c_str();
  std::printf(
      "Took %s\nThe curves: systole inspect %s --plot curves.svg, or tensorboard --logdir %s\n",
      watch.report().c_str(), model_dir, model_dir);
}

}  // namespace

int main(int argc, char** argv) {
  st::CommandLine line(
      "quickstart", "Trains a network to read digits, evaluates, predicts, exports and serves it.");
  Flags flags;
  line.option("--data_dir", flags.data_dir, "Holds mnist/*.gz").value_name("FOLDER");
  line.flag("--small", flags.small, "The digits of examples/data, also where MNIST is");
  line.option("--out", flags.out, "Where a folder for this run is made")
      .value_name("FOLDER")
      .show_default();
  line.option("--batch_size", flags.batch_size).show_default();
  line.option("--train_steps", flags.train_steps).show_default();
  line.option("--shown", flags.shown, "Test digits on the sheet").show_default();
  line.on_run([&] {
    // The progress bar replaces the log.
    if (std::getenv("SYSTOLE_LOG") == nullptr) st::set_log_level(st::LogLevel::warning);
    run(flags);
  });
  return line.run(argc, argv);
}
