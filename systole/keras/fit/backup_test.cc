// A training that is killed and run again is bit for bit one that was not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "systole/base/random.h"
#include "systole/base/testing/error_of.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/graph/core/graph.h"
#include "systole/io/checkpoints/checkpoint_state.h"
#include "systole/io/checkpoints/tensor_bundle.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/keras/keras.h"

namespace systole::keras {
namespace {

using ::testing::HasSubstr;

// What a training leaves behind.
struct TrainedState {
  std::vector<Tensor> weights;  // and those of the optimizer
  History history;
  std::string csv;
};

class StopsHere : public std::exception {};

// Throws, or kills the process, at the end of a batch counted over the life of the object.
class EndsAt : public Callback {
 public:
  EndsAt(int64_t batch, bool kill) : left_(batch), kill_(kill) {}
  void on_batch_end(int64_t, const Logs&) override {
    if (left_-- != 0) return;
    if (kill_) std::raise(SIGKILL);
    throw StopsHere();
  }

 private:
  int64_t left_;
  bool kill_;
};

struct BackupRun {
  std::string folder;
  bool backup = true;
  int64_t save_freq = 3;
  CallbackPtr ends = nullptr;
  std::string input = "arrays";  // sequence, generator, dataset
  bool keep = false;
};

class TwelveBatches : public Sequence {
 public:
  TwelveBatches(Tensor x, Tensor y) : x_(std::move(x)), y_(std::move(y)) {}
  int64_t size() const override { return 6; }
  Arrays get(int64_t index) override {
    const int64_t at = (index + shift_) % 6 * 8;
    return {{x_.slice(at, at + 8)}, {y_.slice(at, at + 8)}, {}};
  }
  void on_epoch_end() override { ++shift_; }

 private:
  Tensor x_;
  Tensor y_;
  int64_t shift_ = 0;
};

FitInput input_of(const std::string& kind, const Tensor& x, const Tensor& y) {
  if (kind == "sequence") return std::make_shared<TwelveBatches>(x, y);
  if (kind == "generator") {
    return [x, y, next = int64_t{0}]() mutable {
      const int64_t at = next++ % 6 * 8;
      return Arrays{{x.slice(at, at + 8)}, {y.slice(at, at + 8)}, {}};
    };
  }
  if (kind == "dataset") {
    return Dataset::from_tensor_slices(Element::tuple({Element(x), Element(y)}))
        .shuffle(20)
        .batch(8);
  }
  return Arrays{{x}, {y}, {}};
}

// The same program each time: 4 epochs of 6 or 7 batches with dropout, a schedule and early
// stopping.
TrainedState train(const BackupRun& run) {
  Graph graph;
  const GraphScope scope(graph);
  set_random_seed(21);
  RandomStream stream(5);
  Tensor x(DType::f32, {50, 4});
  Tensor y(DType::f32, {50, 1});
  for (float& v : x.data<float>()) v = static_cast<float>(stream.next_normal());
  for (size_t i = 0; i < 50; ++i) y.data<float>()[i] = x.data<float>()[4 * i] > 0 ? 1.0F : 0.0F;
  Sequential model({layers::Dense(6, {.activation = "relu", .input_shape = Shape{4}}),
                    layers::Dropout(0.3), layers::Dense(1, {.activation = "sigmoid"})});
  model.compile({.optimizer = "adam", .loss = "binary_crossentropy", .metrics = {"accuracy"}});
  const std::string csv = run.folder + "/log.csv";
  FitOptions options{.batch_size = 8,
                     .epochs = 4,
                     .verbose = 0,
                     .callbacks = {callbacks::CSVLogger(csv),
                                   callbacks::ReduceLROnPlateau({.monitor = "loss", .patience = 1}),
                                   callbacks::EarlyStopping({.patience = 3})},
                     .validation_data = Arrays{{x.slice(0, 20)}, {y.slice(0, 20)}, {}}};
  if (run.input == "generator") options.steps_per_epoch = 6;
  // The counts of callbacks agree with and without an end.
  options.callbacks.push_back(run.ends != nullptr ? run.ends
                                                  : std::make_shared<EndsAt>(1000000, false));
  if (run.backup) {
    options.callbacks.push_back(callbacks::BackupAndRestore(
        run.folder + "/backup", {.save_freq = run.save_freq, .delete_checkpoint = !run.keep}));
  }
  TrainedState state;
  state.history = model.fit(input_of(run.input, x, y), options);
  state.weights = model.get_weights();
  for (const WeightPtr& weight : model.optimizer()->weights()) {
    state.weights.push_back(weight->value().clone());
  }
  state.weights.push_back(model.optimizer()->lr()->value().clone());
  state.csv = read_file(default_file_system(), csv);
  return state;
}

void expect_same(const TrainedState& got, const TrainedState& expected) {
  ASSERT_EQ(got.weights.size(), expected.weights.size());
  for (size_t i = 0; i < got.weights.size(); ++i) {
    EXPECT_TRUE(got.weights[i].identical(expected.weights[i])) << i;
  }
  EXPECT_EQ(got.history.epoch, expected.history.epoch);
  EXPECT_EQ(got.history.history, expected.history.history);
  EXPECT_EQ(got.csv, expected.csv);
}

TEST(BackupAndRestore, GoesOnAfterAnErrorAtAnyBatch) {
  const systole::testing::TempFolder plain;
  const TrainedState expected = train({.folder = plain.path(), .backup = false});
  ASSERT_EQ(expected.history.epoch.size(), 4U);
  struct Case {
    int64_t batch;
    int64_t save_freq;
  };
  for (const auto& [batch, save_freq] : {Case{0, 3}, Case{6, 3}, Case{10, 0}, Case{20, 4}}) {
    const systole::testing::TempFolder folder;
    BackupRun run{.folder = folder.path(), .save_freq = save_freq};
    run.ends = std::make_shared<EndsAt>(batch, false);
    EXPECT_THROW(train(run), StopsHere);
    run.ends = nullptr;
    SCOPED_TRACE(fmt::format("batch {} save_freq {}", batch, save_freq));
    expect_same(train(run), expected);
    // A complete training removes its backups.
    EXPECT_EQ(latest_checkpoint(default_file_system(), folder / "backup"), "");
  }
}

TEST(BackupAndRestore, GoesOnInEveryKindOfInput) {
  for (const std::string input : {"sequence", "generator"}) {
    SCOPED_TRACE(input);
    const systole::testing::TempFolder plain;
    const TrainedState expected = train({.folder = plain.path(), .backup = false, .input = input});
    for (const int64_t batch : {15}) {
      const systole::testing::TempFolder folder;
      BackupRun run{.folder = folder.path(), .save_freq = 4, .input = input};
      run.ends = std::make_shared<EndsAt>(batch, false);
      EXPECT_THROW(train(run), StopsHere);
      run.ends = nullptr;
      expect_same(train(run), expected);
    }
  }
}

// The data set shuffles by the operating system's random numbers, which the backup keeps: the run
// that continues has the order of the one that was ended, so that two that continue from copies of
// one backup agree.
TEST(BackupAndRestore, KeepsTheOrderOfAnUnseededShuffle) {
  const systole::testing::TempFolder folder;
  BackupRun run{.folder = folder.path(), .save_freq = 2, .input = "dataset", .keep = true};
  run.ends = std::make_shared<EndsAt>(9, false);
  EXPECT_THROW(train(run), StopsHere);
  run.ends = nullptr;
  std::vector<TrainedState> states;
  for (const char* name : {"a", "b"}) {
    const systole::testing::TempFolder copy;
    std::filesystem::copy(folder.path(), copy.path(), std::filesystem::copy_options::recursive);
    BackupRun again = run;
    again.folder = copy.path();
    SCOPED_TRACE(name);
    states.push_back(train(again));
  }
  expect_same(states[0], states[1]);
}

TEST(BackupAndRestore, ACompleteTrainingThatKeptItsBackupIsNotRunAgain) {
  const systole::testing::TempFolder folder;
  const BackupRun run{.folder = folder.path(), .keep = true};
  const TrainedState first = train(run);
  expect_same(train(run), first);
}

TEST(BackupAndRestore, ASignalSavesThePosition) {
  class Interrupts : public Callback {
   public:
    void on_batch_end(int64_t, const Logs&) override {
      if (left_-- == 0) std::raise(SIGTERM);
    }

   private:
    int64_t left_ = 10;
  };
  const systole::testing::TempFolder plain;
  const TrainedState expected = train({.folder = plain.path(), .backup = false});
  const systole::testing::TempFolder folder;
  BackupRun run{.folder = folder.path(), .save_freq = 0};
  run.ends = std::make_shared<Interrupts>();
  EXPECT_EQ(train(run).history.stopped_by, "SIGTERM");
  run.ends = nullptr;
  resume_training();
  expect_same(train(run), expected);
}

TEST(BackupAndRestore, RefusesABackupOfAnotherInput) {
  const systole::testing::TempFolder folder;
  BackupRun run{.folder = folder.path()};
  run.ends = std::make_shared<EndsAt>(8, false);
  EXPECT_THROW(train(run), StopsHere);
  Graph graph;
  const GraphScope scope(graph);
  Sequential model({layers::Dense(1, {.input_shape = Shape{4}})});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  EXPECT_THAT(systole::testing::error_of([&] {
                model.fit(Tensor::zeros(DType::f32, {30, 4}), Tensor::zeros(DType::f32, {30, 1}),
                          {.batch_size = 8,
                           .epochs = 4,
                           .verbose = 0,
                           .callbacks = {callbacks::BackupAndRestore(folder / "backup")}});
              }),
              HasSubstr("got 30 examples in batches of 8, expected 50 in batches of 8"));
}

TEST(BackupAndRestore, RefusesABackupOfAnotherModel) {
  const systole::testing::TempFolder folder;
  BackupRun run{.folder = folder.path()};
  run.ends = std::make_shared<EndsAt>(8, false);
  EXPECT_THROW(train(run), StopsHere);
  Graph graph;
  const GraphScope scope(graph);
  const Tensor x = Tensor::zeros(DType::f32, {50, 4});
  const Tensor y = Tensor::zeros(DType::f32, {50, 1});
  Sequential model({layers::Dense(7, {.input_shape = Shape{4}}), layers::Dense(1)});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  EXPECT_THAT(systole::testing::error_of([&] {
                model.fit(x, y,
                          {.batch_size = 8,
                           .epochs = 4,
                           .verbose = 0,
                           .callbacks = {callbacks::BackupAndRestore(folder / "backup")},
                           .validation_data = Arrays{{x.slice(0, 20)}, {y.slice(0, 20)}, {}}});
              }),
              HasSubstr("the backup is of another model: give BackupAndRestore another directory"));
}

// The child of the test below.
TEST(BackupAndRestore, ChildProcess) {
  const char* const folder = std::getenv("SYSTOLE_BACKUP_TEST_FOLDER");
  if (folder == nullptr) GTEST_SKIP() << "run by KilledProcessesGoOn";
  const char* const batch = std::getenv("SYSTOLE_BACKUP_TEST_BATCH");
  BackupRun run{.folder = folder, .keep = true};
  if (batch != nullptr) run.ends = std::make_shared<EndsAt>(std::atoi(batch), true);
  const TrainedState state = train(run);
  BundleWriter writer(default_file_system(), std::string(folder) + "/result");
  for (size_t i = 0; i < state.weights.size(); ++i) {
    writer.add(fmt::format("w{}", i), state.weights[i]);
  }
  writer.finish();
}

int run_child(const std::string& folder, const std::string& batch) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("SYSTOLE_BACKUP_TEST_FOLDER", folder.c_str(), 1);
    if (!batch.empty()) ::setenv("SYSTOLE_BACKUP_TEST_BATCH", batch.c_str(), 1);
    ::execl("/proc/self/exe", "keras_test", "--gtest_filter=BackupAndRestore.ChildProcess",
            "--gtest_brief=1", static_cast<char*>(nullptr));
    ::_exit(127);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

TEST(BackupAndRestore, KilledProcessesGoOn) {
  const systole::testing::TempFolder plain;
  const TrainedState expected = train({.folder = plain.path(), .backup = false});
  const systole::testing::TempFolder folder;
  for (const char* batch : {"5", "8", "3"}) {
    const int status = run_child(folder.path(), batch);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << batch << " " << status;
  }
  ASSERT_EQ(run_child(folder.path(), ""), 0);
  const BundleReader result(default_file_system(), folder / "result");
  for (size_t i = 0; i < expected.weights.size(); ++i) {
    EXPECT_TRUE(result.read(fmt::format("w{}", i)).identical(expected.weights[i])) << i;
  }
}

}  // namespace
}  // namespace systole::keras
