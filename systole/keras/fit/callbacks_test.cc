#include "systole/keras/fit/callbacks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <nlohmann/json.hpp>

#include "systole/base/log.h"
#include "systole/base/random.h"
#include "systole/base/testing/error_of.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/graph/core/graph.h"
#include "systole/io/events/event_reader.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/io/testing/http_server.h"
#include "systole/keras/fit/progress_bar.h"
#include "systole/keras/keras.h"
#include "systole/profile/report.h"

namespace systole::keras {
namespace {

using systole::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

class FitCallbacksTest : public ::testing::Test {
 protected:
  FitCallbacksTest() : scope_(graph_) {
    set_random_seed(4);
    RandomStream stream(9);
    for (float& v : x_.data<float>()) v = static_cast<float>(stream.next_normal());
    for (size_t i = 0; i < 32; ++i) y_.data<float>()[i] = 3 * x_.data<float>()[2 * i];
  }
  Sequential make_model(double lr = 0.05) const {
    Sequential model({layers::Dense(1, {.input_shape = Shape{2}})});
    model.compile({.optimizer = optimizers::SGD(lr), .loss = "mse", .metrics = {"mae"}});
    return model;
  }
  History fit(const Sequential& model, std::vector<CallbackPtr> list, int64_t epochs = 4) const {
    return model.fit(x_, y_,
                     {.batch_size = 8,
                      .epochs = epochs,
                      .verbose = 0,
                      .callbacks = std::move(list),
                      .validation_data = Arrays{{x_}, {y_}, {}}});
  }

  Graph graph_;
  GraphScope scope_;
  Tensor x_{DType::f32, {32, 2}};
  Tensor y_{DType::f32, {32, 1}};
};

TEST_F(FitCallbacksTest, RemoteMonitorPostsTheLogs) {
  std::vector<std::string> bodies;
  systole::testing::HttpServer server([&](const systole::testing::ServerRequest& request) {
    EXPECT_EQ(request.method, "POST");
    bodies.push_back(request.path + " " + request.header("content-type") + " " +
                     request.header("x-run") + " " + request.body);
    return systole::testing::ServerResponse{};
  });
  const History history = fit(
      make_model(),
      {callbacks::RemoteMonitor({.root = server.url(), .headers = {{"X-Run", "7"}}}),
       callbacks::RemoteMonitor({.root = server.url(), .path = "/epochs", .send_as_json = true})},
      1);
  ASSERT_EQ(bodies.size(), 2U);
  EXPECT_THAT(bodies[0], ::testing::StartsWith("/publish/epoch/end/ application/x-www-form-"
                                               "urlencoded 7 data=%7B%22epoch%22%3A0%2C%22"));
  const std::string json = bodies[1].substr(bodies[1].find('{'));
  EXPECT_THAT(bodies[1], ::testing::StartsWith("/epochs application/json  {"));
  EXPECT_EQ(Json::parse(json).at("val_loss"), history.history.at("val_loss")[0]);
  const LogCapture log;
  fit(make_model(), {callbacks::RemoteMonitor({.root = "http://127.0.0.1:1"})}, 1);
  EXPECT_THAT(log.messages(),
              ::testing::Contains(
                  HasSubstr("could not reach RemoteMonitor root server at http://127.0.0.1:1")));
}

// Makes the validation worse in some epochs.
class ValLosses : public Callback {
 public:
  explicit ValLosses(std::vector<double> values) : values_(std::move(values)) {}
  void on_epoch_end(int64_t epoch, Logs& logs) override {
    logs.set("val_loss", values_.at(static_cast<size_t>(epoch)));
  }

 private:
  std::vector<double> values_;
};

CallbackPtr val_losses(std::vector<double> values) {
  return std::make_shared<ValLosses>(std::move(values));
}

TEST_F(FitCallbacksTest, ModelCheckpointSavesTheBestUnderItsName) {
  const systole::testing::TempFolder folder;
  FileSystem& files = default_file_system();
  const std::string path = folder / "w.{epoch:02d}-{val_loss:.2f}.h5";
  fit(make_model(),
      {val_losses({4, 2, 3, 1}), callbacks::ModelCheckpoint(path, {.save_best_only = true})});
  EXPECT_THAT(files.list(folder.path()),
              UnorderedElementsAre("w.01-4.00.h5", "w.02-2.00.h5", "w.04-1.00.h5"));
  const Model best = load_model(folder / "w.04-1.00.h5");
  EXPECT_EQ(best.get_weights().size(), 2U);
  ::testing::internal::CaptureStdout();
  const Sequential model = make_model();
  fit(model, {callbacks::ModelCheckpoint(folder / "w{epoch}.h5",
                                         {.verbose = 1, .save_weights_only = true, .period = 3})});
  EXPECT_EQ(::testing::internal::GetCapturedStdout(),
            "\nEpoch 00003: saving model to " + (folder / "w3.h5") + "\n");
  EXPECT_TRUE(files.exists(folder / "w3.h5"));
  ::testing::internal::CaptureStdout();
  fit(make_model(),
      {val_losses({2, 3}),
       callbacks::ModelCheckpoint(folder / "best.h5", {.verbose = 1, .save_best_only = true})},
      2);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(),
            "\nEpoch 00001: val_loss improved from inf to 2.00000, saving model to " +
                (folder / "best.h5") + "\n\nEpoch 00002: val_loss did not improve from 2.00000\n");
  EXPECT_THAT(error_of([&] { fit(make_model(), {callbacks::ModelCheckpoint("w{val_los}")}); }),
              HasSubstr("got field 'val_los', expected one of epoch, loss, mean_absolute_error, "
                        "val_loss, val_mean_absolute_error, did you mean 'val_loss'?"));
  EXPECT_THAT(error_of([&] { fit(make_model(), {callbacks::ModelCheckpoint("w{epoch:q}")}); }),
              HasSubstr("got format 'epoch:q'"));
}

TEST_F(FitCallbacksTest, TensorBoardProfilesTheBatchesThatItIsAskedFor) {
  const systole::testing::TempFolder folder;
  const auto profiled = [&](const std::string& name, const callbacks::ProfileBatch& batches) {
    fit(make_model(),
        {callbacks::TensorBoard({.log_dir = folder / name, .profile_batch = batches})});
    return profile::read_profile(default_file_system(), folder / name);
  };
  const nlohmann::json some = profiled("some", {6, 8});
  EXPECT_EQ(some["steps"], 3);
  EXPECT_EQ(some["step_rows"][0]["number"], 5);
  EXPECT_EQ(profiled("first", 1)["steps"], 1);
  fit(make_model(), {callbacks::TensorBoard({.log_dir = folder / "none"})});
  EXPECT_FALSE(default_file_system().exists(folder / "none/plugins"));
  EXPECT_THAT(error_of([] {
                callbacks::TensorBoard({.profile_batch = {3, 2}});
              }),
              HasSubstr("profile_batch, got 3 to 2"));
}

TEST_F(FitCallbacksTest, TensorBoardWritesEpochsAndBatches) {
  const systole::testing::TempFolder folder;
  const Sequential model = make_model();
  const History history =
      fit(model,
          {callbacks::TensorBoard(
              {.log_dir = folder / "logs", .histogram_freq = 2, .write_images = true})},
          3);
  FileSystem& files = default_file_system();
  const std::vector<std::string> names = files.list(folder / "logs");
  ASSERT_EQ(names.size(), 1U);
  const EventFileSummary events = summarize_events(files, folder / ("logs/" + names[0]));
  EXPECT_EQ(events.kinds.at("graph_def"), 1);
  const TagSummary& loss = events.tags.at("epoch_loss")[0];
  EXPECT_EQ(loss.count, 3);
  EXPECT_EQ(loss.last_step, 2);
  EXPECT_FLOAT_EQ(loss.last.scalar, static_cast<float>(history.history.at("loss")[2]));
  EXPECT_EQ(events.tags.at("epoch_val_loss")[0].count, 3);
  const TagSummary& batches = events.tags.at("batch_loss")[0];
  EXPECT_EQ(batches.count, 12);
  EXPECT_EQ(batches.first_step, 0);
  EXPECT_EQ(batches.last_step, 11);
  EXPECT_FALSE(events.tags.contains("batch_size"));
  const TagSummary& kernel = events.tags.at("dense/kernel_0")[0];
  EXPECT_EQ(kernel.kind, SummaryValue::Kind::histogram);
  EXPECT_EQ(kernel.count, 2);
  const TagSummary& picture = events.tags.at("dense/kernel_0/image")[0];
  EXPECT_EQ(picture.kind, SummaryValue::Kind::image);
  EXPECT_EQ(picture.count, 2);
  EXPECT_EQ(picture.last.image.width, 2);  // [2, 1], turned
  EXPECT_EQ(picture.last.image.height, 1);

  fit(make_model(),
      {callbacks::TensorBoard(
          {.log_dir = folder / "rare", .write_graph = false, .update_freq = 16})},
      2);
  const EventFileSummary rare =
      summarize_events(files, folder / ("rare/" + files.list(folder / "rare")[0]));
  EXPECT_EQ(rare.tags.at("batch_loss")[0].count, 4);  // 64 examples
  EXPECT_FALSE(rare.kinds.contains("graph_def"));
  EXPECT_THAT(error_of([] { callbacks::TensorBoard({.update_freq = "step"}); }),
              HasSubstr("expected \"batch\", \"epoch\""));
}

// What was written before the position of a backup is on the disk with it.
TEST_F(FitCallbacksTest, EventsOfABackupAreInTheFile) {
  const systole::testing::TempFolder folder;
  FileSystem& files = default_file_system();
  int64_t seen = 0;
  const auto look = [&](int64_t batch, const Logs& logs) {
    EXPECT_EQ(logs["loss"], *logs.find("loss"));
    if (batch != 3) return;
    const std::string name = files.list(folder / "logs").at(0);
    seen = summarize_events(files, folder / ("logs/" + name)).tags.at("batch_loss")[0].count;
  };
  fit(make_model(),
      {callbacks::TensorBoard({.log_dir = folder / "logs", .write_graph = false}),
       callbacks::LambdaCallback({.on_batch_end = look}),
       callbacks::BackupAndRestore(folder / "backup", {.save_freq = 3})},
      1);
  EXPECT_GE(seen, 3);
  EXPECT_THAT(error_of([] { static_cast<void>(make_logs({"loss"}, {1})["los"]); }),
              HasSubstr("no value 'los' in the logs, did you mean 'loss'?"));
}

TEST_F(FitCallbacksTest, ALossThatIsNoNumberIsSaid) {
  const LogCapture log;
  x_.data<float>()[3] = std::nanf("");
  const History history = fit(make_model(), {}, 2);
  EXPECT_THAT(log.messages(),
              ::testing::Contains(::testing::AllOf(HasSubstr("fit: the loss is nan from batch"),
                                                   HasSubstr("; the input has nan at"),
                                                   HasSubstr(" of x in step ")))
                  .Times(1));
  EXPECT_EQ(values_text(make_logs({"loss"}, {-std::nan("")})), " - loss: nan");
}

TEST_F(FitCallbacksTest, CsvLoggerWritesToAnyFileSystem) {
  const std::string path = "mem://csv_logger_test/log.csv";
  default_file_system().make_directories("mem://csv_logger_test");
  const Sequential model = make_model();
  const History first = fit(model, {callbacks::CSVLogger(path)}, 2);
  fit(model, {callbacks::CSVLogger(path, {.append = true})}, 1);
  const std::string text = read_file(default_file_system(), path);
  EXPECT_THAT(text, ::testing::StartsWith(
                        "epoch,loss,mean_absolute_error,val_loss,val_mean_absolute_error\n0,"));
  EXPECT_EQ(std::ranges::count(text, '\n'), 4);
  EXPECT_THAT(text, HasSubstr(fmt::format("\n1,{},", first.history.at("loss")[1])));
}

TEST_F(FitCallbacksTest, EarlyStoppingRestoresTheBestWeights) {
  const Sequential model = make_model();
  std::vector<std::vector<Tensor>> by_epoch;
  const CallbackPtr keep = callbacks::LambdaCallback(
      {.on_epoch_end = [&](int64_t, Logs&) { by_epoch.push_back(model.get_weights()); }});
  const History history =
      fit(model,
          {val_losses({3, 1, 2, 2, 2, 2}), keep,
           callbacks::EarlyStopping({.patience = 2, .restore_best_weights = true})},
          6);
  EXPECT_EQ(history.epoch.size(), 4U);
  EXPECT_TRUE(model.get_weights()[0].identical(by_epoch[1][0]));
}

// A user's callback reads and sets weights and the learning rate at every batch.
class HalvesTheRate : public Callback {
 public:
  bool needs_each_batch() const override { return true; }
  void on_batch_end(int64_t batch, const Logs&) override {
    if (batch != 1) return;
    const WeightPtr lr = model->optimizer()->lr();
    backend::set_value(lr, backend::get_value(lr).item<float>() / 2);
    frozen = model->get_weights();
  }
  void on_epoch_end(int64_t, Logs&) override { model->set_weights(frozen); }

  std::vector<Tensor> frozen;
};

TEST_F(FitCallbacksTest, AUsersCallbackReachesTheModel) {
  const Sequential model = make_model(0.5);
  const auto callback = std::make_shared<HalvesTheRate>();
  fit(model, {callback}, 3);
  EXPECT_FLOAT_EQ(model.optimizer()->lr()->value().item<float>(), 0.0625F);
  EXPECT_TRUE(model.get_weights()[0].identical(callback->frozen[0]));
}

TEST_F(FitCallbacksTest, HistoryGrowsWhileItTrains) {
  History seen;
  const History history = fit(make_model(), {callbacks::HistoryCallback(seen)}, 3);
  EXPECT_EQ(seen.history, history.history);
  EXPECT_THAT(seen.epoch, ElementsAre(0, 1, 2));
}

TEST_F(FitCallbacksTest, StopInAnEpochLeavesItsValidationOut) {
  class Stops : public Callback {
   public:
    bool needs_each_batch() const override { return true; }
    void on_batch_end(int64_t batch, const Logs&) override { *stop_training = batch == 1; }
  };
  const History history = fit(make_model(), {std::make_shared<Stops>()}, 5);
  EXPECT_THAT(history.epoch, ElementsAre(0));
  EXPECT_FALSE(history.history.contains("val_loss"));
  EXPECT_EQ(history.history.at("loss").size(), 1U);
}

TEST_F(FitCallbacksTest, ASignalEndsFitAndTheModelGoesOn) {
  const Sequential model = make_model();
  int64_t epoch_now = 0;
  const CallbackPtr interrupt =
      callbacks::LambdaCallback({.on_epoch_begin = [&](int64_t epoch) { epoch_now = epoch; },
                                 .on_batch_end =
                                     [&](int64_t batch, const Logs&) {
                                       if (epoch_now == 2 && batch == 1) std::raise(SIGINT);
                                     }});
  const History history = fit(model, {interrupt}, 9);
  EXPECT_EQ(history.stopped_by, "SIGINT");
  EXPECT_THAT(history.epoch, ElementsAre(0, 1));
  EXPECT_TRUE(std::isfinite(model.evaluate(x_, y_, {.verbose = 0})["loss"]));
  resume_training();
  EXPECT_EQ(fit(model, {}, 2).stopped_by, "");
}

TEST_F(FitCallbacksTest, ASignalEndsALoopOfFits) {
  const Sequential generator = make_model();
  const Sequential discriminator = make_model();
  int64_t turns = 0;
  const CallbackPtr interrupt = callbacks::LambdaCallback({.on_epoch_end = [&](int64_t, Logs&) {
    if (turns == 3) std::raise(SIGINT);
  }});
  EXPECT_EQ(error_of([&] {
              for (; turns < 9; ++turns) {
                discriminator.train_on_batch(x_, y_);
                fit(generator, {interrupt}, 1);
              }
            }),
            "CANCELLED: train_on_batch: got SIGINT during the fit() before, expected "
            "resume_training() before another training begins");
  EXPECT_EQ(turns, 4);
  EXPECT_THAT(error_of([&] { fit(generator, {}, 1); }), HasSubstr("CANCELLED: fit: got SIGINT"));
  // Outside of fit() the signal does what it did before.
  EXPECT_EXIT(std::raise(SIGINT), ::testing::KilledBySignal(SIGINT), "");
  resume_training();
  EXPECT_EQ(fit(generator, {}, 1).stopped_by, "");
}

TEST_F(FitCallbacksTest, UnknownMonitorsFailAtTheStart) {
  for (const CallbackPtr& callback :
       {callbacks::EarlyStopping({.monitor = "val_los"}),
        callbacks::ReduceLROnPlateau({.monitor = "val_los"}),
        callbacks::ModelCheckpoint("w", {.monitor = "val_los", .save_best_only = true})}) {
    EXPECT_THAT(error_of([&] { fit(make_model(), {callback}); }),
                ::testing::ContainsRegex(
                    "(EarlyStopping|ReduceLROnPlateau|ModelCheckpoint): monitor, got 'val_los', "
                    "expected one of loss, mean_absolute_error, val_loss, "
                    "val_mean_absolute_error"));
  }
  // Without validation there is no val_loss.
  EXPECT_THAT(error_of([&] {
                make_model().fit(x_, y_, {.verbose = 0, .callbacks = {callbacks::EarlyStopping()}});
              }),
              HasSubstr("expected one of loss, mean_absolute_error"));
}

}  // namespace
}  // namespace systole::keras
