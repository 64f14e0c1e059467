// Hooks at the boundaries of loops.
#include "systole/train/loop/hooks.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>

#include "systole/base/log.h"
#include "systole/base/testing/error_of.h"
#include "systole/base/testing/temp_folder.h"
#include "systole/graph/api/array_ops.h"
#include "systole/runtime/preemption.h"
#include "systole/train/loop/hook_runner.h"
#include "systole/train/loop/model_dir_lock.h"
#include "systole/train/loop/signals.h"

namespace systole {
namespace {

using systole::testing::error_of;
using systole::testing::TempFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Stands for a hook of the test's, which has begun.
class Around : public SessionRunHook {
 public:
  Around(SessionRunHook& hook, size_t values) : hook_(hook), values_(values) {}
  std::vector<Output> fetches() override { return std::vector<Output>(values_); }
  void before_run(RunContext& context) override { hook_.before_run(context); }
  void after_run(RunContext& context, std::span<const Tensor> values) override {
    hook_.after_run(context, values);
  }
  void end(Session& session) override { hook_.end(session); }

 private:
  SessionRunHook& hook_;
  size_t values_;
};

class HooksTest : public ::testing::Test {
 protected:
  // Runs loops that end at these steps; the hook sees `values`.
  void run(SessionRunHook& hook, const std::vector<int64_t>& ends,
           const std::vector<Tensor>& values) {
    hook.after_create_session(session_);
    Graph unused;
    train::HookRunner pass({std::make_shared<Around>(hook, values.size())}, unused);
    pass.start(session_, step_);
    for (const int64_t end : ends) {
      if (!pass.before()) break;
      const int64_t steps = end - step_;
      step_ = end;
      if (!pass.after({.global_step = end, .steps = steps, .seconds = 1, .examples = 10 * steps},
                      values)) {
        break;
      }
    }
    pass.end();
  }
  void run(SessionRunHook& hook, const std::vector<int64_t>& ends, const Tensor& value) {
    run(hook, ends, std::vector<Tensor>{value});
  }

  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  GraphScope scope_{*graph_};
  Session session_;
  int64_t step_ = 0;
};

TEST_F(HooksTest, checkpoints_are_saved_first_in_between_and_last) {
  std::vector<int64_t> saved;
  CheckpointSaverHook hook(
      {.save_steps = 10, .save = [&](Session&, int64_t step) { saved.push_back(step); }});
  run(hook, {4, 8, 12, 16, 20, 24, 26}, Tensor(1.0F));
  EXPECT_THAT(saved, ElementsAre(0, 12, 24, 26));
  EXPECT_THAT(error_of([] { CheckpointSaverHook({.save_steps = 1, .save_secs = 1.0}); }),
              HasSubstr("exactly one of save_steps and save_secs must be provided."));
}

TEST_F(HooksTest, training_stops_at_a_step) {
  StopAtStepHook more({.num_steps = 10});
  run(more, {4, 8, 12, 16}, Tensor(1.0F));
  EXPECT_EQ(step_, 12);
  StopAtStepHook last({.last_step = 12});
  run(last, {16}, Tensor(1.0F));
  EXPECT_EQ(step_, 12);
  EXPECT_THAT(error_of([] { StopAtStepHook({}); }),
              HasSubstr("One of num_steps or last_step must be specified."));
}

TEST_F(HooksTest, tensors_are_logged_with_their_step) {
  const Output loss = placeholder(DType::f32, {}, "loss");
  std::vector<std::string> lines;
  LoggingTensorHook hook({.tensors = {{"loss", loss}},
                          .every_n_iter = 4,
                          .write = [&](const std::string& line) { lines.push_back(line); }});
  EXPECT_THAT(hook.fetches(), ElementsAre(loss));
  run(hook, {2, 4, 6}, Tensor(0.25F));
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0], "loss = 0.25, step = 2");
  EXPECT_THAT(lines[1], HasSubstr("loss = 0.25, step = 6 ("));
}

TEST_F(HooksTest, a_loss_that_is_no_number_ends_training) {
  const Variable w(Tensor::of<float>({2}, {1, INFINITY}), {.name = "w"});
  session_.run(global_variables_initializer());
  const Output loss = placeholder(DType::f32, {}, "loss");
  const auto values = [](float last, int64_t step_of_0, int64_t step_of_1) {
    return std::vector<Tensor>{Tensor(last), Tensor::of<int64_t>({2}, {step_of_0, step_of_1})};
  };
  NanTensorHook hook(loss);
  run(hook, {2}, values(1, 0, 0));
  EXPECT_THAT(error_of([&] { run(hook, {4}, values(NAN, 4, 3)); }),
              HasSubstr("Model diverged with loss = NaN: loss 'loss:0', got nan at [] in step 3 on "
                        "replica 1, seen after step 4; variable 'w' has inf at [1], expected "
                        "finite numbers"));
  // Finite again by the end of the loop.
  EXPECT_THAT(
      error_of([&] { run(hook, {6}, values(1, 5, 0)); }),
      HasSubstr("got a value that is not finite in step 5 on replica 0, seen after step 6"));
  NanTensorHook mild(loss, false);
  run(mild, {8, 10}, values(NAN, 7, 7));
  EXPECT_EQ(step_, 8);
}

TEST_F(HooksTest, speed_is_recorded) {
  std::vector<int64_t> steps;
  StepCounterHook hook(
      {.every_n_steps = 4, .record = [&](int64_t step, double per_sec, double examples) {
         steps.push_back(step);
         EXPECT_NEAR(examples / per_sec, 10, 1e-6);
       }});
  run(hook, {2, 4, 6, 8}, Tensor(1.0F));
  EXPECT_THAT(steps, ElementsAre(4, 8));
}

TEST_F(HooksTest, schedules_are_of_steps_or_of_seconds) {
  EXPECT_THAT(error_of([] { LoopTimer({}); }),
              HasSubstr("Either every_secs or every_steps should be provided."));
  EXPECT_THAT(error_of([] { LoopTimer({.every_steps = 1, .every_secs = 1.0}); }),
              HasSubstr("Can not provide both every_secs and every_steps."));
  EXPECT_THAT(error_of([] { StepCounterHook({.every_n_steps = 1, .every_n_secs = 1.0}); }),
              HasSubstr("exactly one of every_n_steps and every_n_secs should be provided."));
  EXPECT_THAT(error_of([] { LoggingTensorHook({}); }),
              HasSubstr("exactly one of every_n_iter and every_n_secs must be provided."));
  for (const int64_t every : {0, -10}) {
    EXPECT_THAT(error_of([&] { LoggingTensorHook({.every_n_iter = every}); }),
                HasSubstr(fmt::format("invalid every_n_iter={}.", every)));
  }
}

TEST_F(HooksTest, a_global_step_that_stands_still_is_told_once) {
  StepCounterHook hook({.every_n_steps = 4});
  const LogCapture log;
  run(hook, {2, 4}, Tensor(1.0F));
  EXPECT_THAT(log.messages(), ::testing::Not(::testing::Contains(HasSubstr("has not been"))));
  run(hook, {4, 4, 4}, Tensor(1.0F));
  EXPECT_EQ(std::ranges::count_if(log.messages(),
                                  [](const std::string& line) {
                                    return line.find(
                                               "global step (st::get_global_step) has not "
                                               "been increased") != std::string::npos;
                                  }),
            1);
}

TEST_F(HooksTest, one_process_has_a_model_dir) {
  const TempFolder folder;
  {
    const ModelDirLock lock(folder.path());
    EXPECT_THAT(error_of([&] { ModelDirLock second(folder.path()); }),
                HasSubstr(fmt::format("in use by process {}", ::getpid())));
  }
  EXPECT_NO_THROW(ModelDirLock(folder.path()));
  EXPECT_THAT(error_of([&] { ModelDirLock(folder / "none"); }), HasSubstr("NOT_FOUND"));
}

TEST_F(HooksTest, signals_are_noted) {
  const StopSignals signals;
  EXPECT_EQ(StopSignals::received(), nullptr);
  EXPECT_EQ(StopSignals::exit_code(), 0);
  std::raise(SIGTERM);
  EXPECT_STREQ(StopSignals::received(), "SIGTERM");
  EXPECT_EQ(StopSignals::exit_code(), 75);
}

TEST_F(HooksTest, a_notice_that_the_device_goes_away_stops_work_under_way) {
  {
    const StopSignals signals;
    runtime::note_preemption();
    EXPECT_STREQ(StopSignals::received(), "the worker's end");
    const StopSignals inner;
    EXPECT_EQ(StopSignals::exit_code(), 75);
  }
  EXPECT_EQ(StopSignals::exit_code(), 75) << "until other work begins";
  const StopSignals later;
  EXPECT_EQ(StopSignals::received(), nullptr);
}

}  // namespace
}  // namespace systole
