// Checkpoints and exports under power failures.
#include <gtest/gtest.h>

#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/io/checkpoints/checkpoint_state.h"
#include "systole/io/checkpoints/tensor_bundle.h"
#include "systole/io/saved_models/saved_model.h"
#include "systole/train/async_saver.h"
#include "systole/train/saved_model_builder.h"
#include "systole/train/saver.h"
#include "tests/crash_states/crash_states.h"

namespace systole::testing {
namespace {

// A model whose weights all hold the number of the save.
class TrainCrashStates : public ::testing::Test {
 protected:
  TrainCrashStates() : scope_(*graph_) {
    w_ = Variable(Tensor::of<float>({2}, {0, 0}), {.name = "dense/kernel"});
    b_ = Variable(Tensor(0.0F), {.name = "dense/bias"});
    session_ = std::make_unique<Session>("", SessionConfig{.graph = graph_.get()});
    session_->run({global_variables_initializer()});
  }

  void set_weights(int number) {
    const auto value = static_cast<float>(number);
    session_->set_variable(w_, Tensor::of<float>({2}, {value, value}));
    session_->set_variable(b_, Tensor(value));
  }
  // Errors: DATA_LOSS for weights of different saves.
  int weights() {
    const auto number = static_cast<int>(session_->variable_value(b_).item<float>());
    const auto value = static_cast<float>(number);
    if (session_->variable_value(w_).identical(Tensor::of<float>({2}, {value, value}))) {
      return number;
    }
    throw make_error(Code::data_loss, "weights of several saves");
  }

  SaverOptions saver_options() { return {.max_to_keep = 2, .file_system = &fs_, .clock = &clock_}; }
  // Reads what Saver::restore_latest finds, and compares the extras with the weights.
  int restored() {
    const RestoredCheckpoint found =
        Saver(saver_options()).restore_latest(*session_, parent_path(kPath));
    if (found.prefix.empty()) return 0;
    const int number = weights();
    if (found.extras.at("number") == std::to_string(number)) return number;
    throw make_error(Code::data_loss, "{}: got the extras of another save", found.prefix);
  }

  const std::string kPath = "runs/mnist/first/model.ckpt";
  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  GraphScope scope_;
  Variable w_;
  Variable b_;
  std::unique_ptr<Session> session_;
  MemoryFileSystem fs_;
  FakeClock clock_;
};

TEST_F(TrainCrashStates, Saver) {
  expect_survives(
      {.name = "checkpoints",
       .files = &fs_,
       .save =
           [&](int number) {
             set_weights(number);
             Saver(saver_options())
                 .save(*session_, kPath,
                       {.global_step = number, .extras = {{"number", std::to_string(number)}}});
           },
       .read = [&] { return restored(); }},
      4);
}

// A program that names its checkpoints itself, always alike.
TEST_F(TrainCrashStates, SaverOfOneName) {
  expect_survives({.name = "checkpoints of one name",
                   .files = &fs_,
                   .save =
                       [&](int number) {
                         set_weights(number);
                         Saver(saver_options())
                             .save(*session_, kPath,
                                   {.extras = {{"number", std::to_string(number)}}});
                       },
                   .read = [&] { return restored(); }});
}

TEST_F(TrainCrashStates, CheckpointState) {
  expect_survives(
      {.name = "file checkpoint",
       .files = &fs_,
       .save =
           [&](int number) {
             fs_.make_directories("d");
             write_checkpoint_state(
                 fs_, "d",
                 {.model_checkpoint_path = fmt::format("d/m-{}", number),
                  .all_model_checkpoint_paths = {"d/m-0", fmt::format("d/m-{}", number)}});
           },
       .read =
           [&] {
             const auto state = read_checkpoint_state(fs_, "d");
             if (!state) return 0;
             return std::stoi(state->model_checkpoint_path.substr(std::string("d/m-").size()));
           }});
}

// As TPUEstimator::export_saved_model does: each export under a name of its own, by one rename.
TEST_F(TrainCrashStates, SavedModel) {
  const Output x = placeholder(DType::f32, {2}, "x");
  ExportOptions options{.file_system = &fs_};
  options.signatures["serving_default"] = {
      .inputs = {{"x", x}}, .outputs = {{"y", add(multiply(x, w_.value()), b_.value())}}};
  options.assets["vocab.txt"] = "words";
  expect_survives(
      {.name = "SavedModels",
       .files = &fs_,
       .save =
           [&](int number) {
             set_weights(number);
             write_file_atomically(fs_, "words", "a\nb\n");
             fs_.make_directories("exports/mnist");
             clock_.advance(std::chrono::seconds(1));
             const std::string to = timestamped_export_directory(fs_, "exports/mnist", clock_);
             const std::string temporary = "exports/mnist/temp-" + base_name(to);
             export_saved_model(*session_, temporary, options);
             fs_.rename(temporary, to);
           },
       .read =
           [&] {
             int newest = 0;
             if (!fs_.exists("exports/mnist")) return 0;
             for (const std::string& name : fs_.list("exports/mnist")) {
               if (name.starts_with("temp-")) continue;
               const std::string directory = "exports/mnist/" + name;
               const SavedModelFile file(fs_, directory);
               const BundleReader bundle(fs_, saved_model_variables(directory));
               bundle.verify();
               if (file.meta_graphs().size() != 1 || bundle.keys().size() != 2 ||
                   read_file(fs_, directory + "/assets/vocab.txt") != "a\nb\n" ||
                   !fs_.exists(directory + "/model.mlir")) {
                 throw make_error(Code::data_loss, "{}: got a part of an export", directory);
               }
               newest = std::max(newest, static_cast<int>(bundle.read("dense/bias").item<float>()));
             }
             return newest;
           }});
}

}  // namespace
}  // namespace systole::testing
