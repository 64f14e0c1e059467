#include "systole/train/loop/monitored_session.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "systole/base/log.h"
#include "systole/base/testing/error_of.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/data/dataset.h"
#include "systole/graph/api/array_ops.h"
#include "systole/graph/api/debugging_ops.h"
#include "systole/graph/api/math_ops.h"
#include "systole/graph/api/random_ops.h"
#include "systole/graph/api/state_ops.h"
#include "systole/train/loop/summary_saver_hook.h"
#include "systole/train/optimizer.h"
#include "systole/train/saver.h"
#include "systole/train/summary.h"

namespace systole {
namespace {

using systole::testing::error_of;
using systole::testing::TempFolder;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// A hook that notes what it is called for.
class Noting : public SessionRunHook {
 public:
  explicit Noting(std::vector<std::string>& calls) : calls_(calls) {}
  void begin() override { calls_.emplace_back("begin"); }
  void after_run(RunContext& context, std::span<const Tensor>) override {
    calls_.push_back(fmt::format("run {}+{}", context.global_step(), context.steps()));
  }
  void end(Session&) override { calls_.emplace_back("end"); }

 private:
  std::vector<std::string>& calls_;
};

std::shared_ptr<StopAtStepHook> stop_at(int64_t step) {
  return std::make_shared<StopAtStepHook>(StopAtStepHook::Options{.last_step = step});
}

class MonitoredSessionTest : public ::testing::Test {
 protected:
  Fetch train_op() { return Fetch(train_op_); }
  std::string folder() const { return temp_.path() + "/model"; }

  TempFolder temp_;
  LogCapture log_;
  Graph graph_;
  GraphScope scope_{graph_};
  Output x_ = placeholder(DType::f32, {}, "x");
  Variable step_ = get_or_create_global_step();
  Variable w_{1.0F, {.name = "w"}};
  Output noise_ = random_uniform({}, {.seed = 3});
  Output loss_ = square(w_ * x_ - 3.0F - 0.01F * noise_);
  Operation train_op_ = GradientDescentOptimizer(0.1).minimize(loss_, {.global_step = step_});
};

TEST_F(MonitoredSessionTest, HooksStandAroundEachRun) {
  std::vector<std::string> calls;
  MonitoredSession sess({.hooks = {std::make_shared<Noting>(calls), stop_at(2)}});
  EXPECT_EQ(sess.run({loss_, w_}, {{x_, 1.0F}})[1].item<float>(), 1);
  while (!sess.should_stop()) sess.run(train_op_, {{x_, 1.0F}});
  EXPECT_EQ(sess.global_step(), 2);
  EXPECT_THAT(error_of([&] {
                sess.run(train_op_, {{x_, 1.0F}});
              }),
              HasSubstr("Run called even after should_stop requested."));
  EXPECT_GT(sess.raw_session().run(w_).item<float>(), 1);
  sess.close();
  EXPECT_THAT(error_of([&] { sess.run(loss_); }), HasSubstr("Attempted to use a closed Session."));
  EXPECT_THAT(calls, ElementsAre("begin", "run 0+0", "run 1+1", "run 2+1", "end"));
}

// Training in two processes is training in one.
TEST_F(MonitoredSessionTest, TrainingGoesOnFromItsCheckpoint) {
  const auto train_to = [&](int64_t step, const std::string& to) {
    MonitoredTrainingSession sess({.checkpoint_dir = to, .hooks = {stop_at(step)}});
    while (!sess.should_stop()) sess.run(train_op_, {{x_, 1.0F}});
    return sess.raw_session().run(w_).item<float>();
  };
  const float at_once = train_to(6, temp_.path() + "/once");
  train_to(2, folder());
  EXPECT_EQ(latest_checkpoint(folder()), folder() + "/model.ckpt-2");
  EXPECT_EQ(train_to(6, folder()), at_once);
  EXPECT_THAT(log_.messages(), Contains(HasSubstr("Restoring parameters from")));
  EXPECT_EQ(train_to(6, folder()), at_once) << "there is nothing left to do";
}

TEST_F(MonitoredSessionTest, CheckpointsAndSummariesAreWritten) {
  summary::scalar("loss", loss_);
  {
    MonitoredTrainingSession sess({.checkpoint_dir = folder(),
                                   .hooks = {stop_at(5)},
                                   .save_summaries_steps = 2,
                                   .log_step_count_steps = 2,
                                   .save_checkpoint_steps = 2});
    while (!sess.should_stop()) sess.run(train_op_, {{x_, 1.0F}});
  }
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder())) {
    names.push_back(entry.path().filename().string());
  }
  EXPECT_THAT(names, AllOf(Contains("model.ckpt-0.index"), Contains("model.ckpt-2.index"),
                           Contains("model.ckpt-4.index"), Contains("model.ckpt-5.index"),
                           Contains(HasSubstr("events.out.tfevents"))));
  EXPECT_THAT(log_.messages(), AllOf(Contains(HasSubstr("global_step/sec: ")),
                                     Not(Contains(HasSubstr("examples/sec: ")))));
}

TEST_F(MonitoredSessionTest, HooksOfEstimatorsWorkHereToo) {
  std::vector<std::string> lines;
  const auto logging = std::make_shared<LoggingTensorHook>(LoggingTensorHook::Options{
      .tensors = {{"w", w_.value()}}, .every_n_iter = 2, .write = [&](const std::string& line) {
        lines.push_back(line.substr(0, 5));
      }});
  const auto final_ops = std::make_shared<FinalOpsHook>(std::vector<Output>{w_.read_value()});
  {
    MonitoredSession sess(
        {.hooks = {logging, final_ops, std::make_shared<NanTensorHook>(loss_), stop_at(3)}});
    while (!sess.should_stop()) sess.run(train_op_, {{x_, 1.0F}});
  }
  EXPECT_THAT(lines, ElementsAre("w = 1", "w = 1"));
  ASSERT_EQ(final_ops->final_ops_values().size(), 1U);
  EXPECT_GT(final_ops->final_ops_values()[0].item<float>(), 1.5F);
}

TEST_F(MonitoredSessionTest, ALossThatIsNoNumberEndsTraining) {
  std::vector<std::string> calls;
  const auto diverge = [&] {
    MonitoredSession sess(
        {.hooks = {std::make_shared<Noting>(calls), std::make_shared<NanTensorHook>(loss_)}});
    sess.run(train_op_, {{x_, 1.0F}});
    sess.run(train_op_, {{x_, std::numeric_limits<float>::infinity()}});
  };
  EXPECT_THAT(error_of(diverge), AllOf(HasSubstr("Model diverged with loss = NaN"),
                                       HasSubstr("in step 2 on replica 0")));
  EXPECT_THAT(calls, ElementsAre("begin", "run 1+1", "run 2+1")) << "an error is no end";
}

TEST_F(MonitoredSessionTest, TheEndOfTheInputIsAnEnd) {
  std::vector<std::string> calls;
  const Output next = Dataset::range(3).make_one_shot_iterator().get_next();
  const Output sum = w_.assign_add(cast(next, DType::f32));
  const Output moved = step_.assign_add(Tensor(int64_t{1}));
  const auto train = [&] {
    MonitoredTrainingSession sess(
        {.checkpoint_dir = folder(), .hooks = {std::make_shared<Noting>(calls)}});
    while (!sess.should_stop()) sess.run({sum, moved});
  };
  EXPECT_THAT(error_of(train), HasSubstr("OUT_OF_RANGE"));
  EXPECT_EQ(calls.back(), "end");
  EXPECT_EQ(latest_checkpoint(folder()), folder() + "/model.ckpt-3");
}

TEST_F(MonitoredSessionTest, EpochsGoOnBehindTheEndOfTheInput) {
  auto iterator = Dataset::range(3).make_initializable_iterator();
  const Output next = iterator.get_next();
  MonitoredSession sess;
  int64_t ends = 0;
  for (int epoch = 0; epoch < 2; ++epoch) {
    sess.run(iterator.initializer());
    try {
      while (!sess.should_stop()) sess.run(next);
    } catch (const Error& error) {
      if (error.code() == Code::out_of_range) ++ends;
    }
  }
  EXPECT_EQ(ends, 2);
}

// The hook's state is what a checkpoint keeps of it.
class Counting : public SessionRunHook {
 public:
  void after_run(RunContext&, std::span<const Tensor>) override { ++count; }
  std::string state_name() const override { return "count"; }
  std::string save_state() const override { return std::to_string(count); }
  void restore_state(std::string_view state) override { count = std::stoi(std::string(state)); }

  int count = 0;
};

TEST_F(MonitoredSessionTest, AHookGoesOnToo) {
  const auto train_to = [&](int64_t step) {
    auto counting = std::make_shared<Counting>();
    MonitoredTrainingSession sess({.checkpoint_dir = folder(), .hooks = {counting, stop_at(step)}});
    while (!sess.should_stop()) sess.run(train_op_, {{x_, 1.0F}});
    return counting;
  };
  EXPECT_EQ(train_to(2)->count, 2);
  EXPECT_EQ(train_to(5)->count, 5);
}

// The same variables beside other nodes.
TEST_F(MonitoredSessionTest, AnEditedGraphBeginsItsRandomNumbersAnew) {
  {
    MonitoredTrainingSession sess({.checkpoint_dir = folder(), .hooks = {stop_at(2)}});
    while (!sess.should_stop()) sess.run(train_op_, {{x_, 1.0F}});
  }
  Graph edited;
  const GraphScope scope(edited);
  const Variable step = get_or_create_global_step();
  const Variable w(1.0F, {.name = "w"});
  const Operation train_op =
      GradientDescentOptimizer(0.1).minimize(square(w - random_uniform({})), {.global_step = step});
  MonitoredTrainingSession sess({.checkpoint_dir = folder(), .hooks = {stop_at(4)}});
  while (!sess.should_stop()) sess.run(train_op);
  EXPECT_EQ(sess.global_step(), 4);
  EXPECT_THAT(log_.messages(), Contains(HasSubstr("random numbers: begin anew")));
}

TEST_F(MonitoredSessionTest, AHookThatFailsAtTheEndCostsNoCheckpoint) {
  class Failing : public SessionRunHook {
   public:
    void end(Session&) override { throw internal_error("failing: end"); }
  };
  std::vector<std::string> calls;
  MonitoredTrainingSession sess(
      {.checkpoint_dir = folder(),
       .hooks = {std::make_shared<Failing>(), std::make_shared<Noting>(calls), stop_at(2)}});
  while (!sess.should_stop()) sess.run(train_op_, {{x_, 1.0F}});
  EXPECT_THAT(error_of([&] { sess.close(); }), HasSubstr("failing: end"));
  EXPECT_EQ(calls.back(), "end");
  EXPECT_EQ(latest_checkpoint(folder()), folder() + "/model.ckpt-2");
  EXPECT_EQ(error_of([&] { sess.close(); }), "no error") << "it is closed";
}

TEST_F(MonitoredSessionTest, TheUsersScheduleOfCheckpointsIsTaken) {
  const auto saver =
      std::make_shared<CheckpointSaverHook>(CheckpointSaverHook::Options{.save_steps = 2});
  MonitoredTrainingSession sess({.checkpoint_dir = folder(), .hooks = {saver, stop_at(3)}});
  while (!sess.should_stop()) sess.run(train_op_, {{x_, 1.0F}});
  sess.close();
  EXPECT_TRUE(std::filesystem::exists(folder() + "/model.ckpt-2.index"));
  EXPECT_TRUE(std::filesystem::exists(folder() + "/model.ckpt-3.index"));
}

TEST_F(MonitoredSessionTest, LocalVariablesMayBeginWithGlobalOnes) {
  const Variable local(
      w_.read_value() + 1.0F,
      {.trainable = false, .collections = {std::string(graph_keys::local_variables)}});
  MonitoredSession sess;
  EXPECT_EQ(sess.run(local).item<float>(), 2);
}

TEST_F(MonitoredSessionTest, HooksAreAskedBeforeRunsAlone) {
  class Stopping : public SessionRunHook {
   public:
    void before_run(RunContext& context) override { context.request_stop(); }
  };
  MonitoredSession sess({.hooks = {std::make_shared<Stopping>()}});
  EXPECT_FALSE(sess.should_stop());
  sess.run(train_op_, {{x_, 1.0F}});
  EXPECT_TRUE(sess.should_stop());
}

TEST_F(MonitoredSessionTest, WhatCannotBeIsTold) {
  const auto saver =
      std::make_shared<CheckpointSaverHook>(CheckpointSaverHook::Options{.save_steps = 1});
  EXPECT_THAT(error_of([&] { MonitoredSession({.hooks = {saver}}); }),
              HasSubstr("MonitoredSession: checkpoint_dir, got none, expected a folder"));
  EXPECT_THAT(error_of([&] {
                MonitoredTrainingSession({.save_checkpoint_secs = 1, .save_checkpoint_steps = 1});
              }),
              HasSubstr("save_checkpoint_secs and save_checkpoint_steps, got both, expected one"));
  EXPECT_THAT(error_of([&] {
                MonitoredTrainingSession({.save_summaries_steps = 1, .save_summaries_secs = 1});
              }),
              HasSubstr("save_summaries_secs and save_summaries_steps, got both, expected one"));
  Graph other;
  const GraphScope scope(other);
  EXPECT_THAT(error_of([&] { MonitoredTrainingSession({.checkpoint_dir = folder()}); }),
              HasSubstr("Global step should be created to use CheckpointSaverHook."));
  MonitoredTrainingSession without_folder;
  EXPECT_EQ(without_folder.run(constant(2.0F)).item<float>(), 2);
  EXPECT_EQ(without_folder.global_step(), 1) << "runs are counted where there is no global step";
}

}  // namespace
}  // namespace systole
