// What runs between the loops of training, evaluation and prediction.
// (tf.train.SessionRunHook and those that come with it)
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "systole/runtime/client.h"
#include "systole/session/session.h"

namespace systole {

namespace estimator {
class HookRunner;
}

// What a hook sees of the loop that was just run, or is about to be.
class RunContext {
 public:
  RunContext(Session& session, int64_t global_step) : session_(session), step_(global_step) {}

  Session& session() const { return session_; }
  // Steps trained so far, as of the loop's end in after_run.
  int64_t global_step() const { return step_; }
  // Of the loop that was just run.
  int64_t steps() const { return steps_; }
  double seconds() const { return seconds_; }
  int64_t examples() const { return examples_; }

  // In before_run: the loop that comes takes the time of its operations, which after_run sees;
  // none where the device takes no times.
  void request_profile() { profile_requested_ = true; }
  bool profile_requested() const { return profile_requested_; }
  std::span<const runtime::StepProfile> profile() const { return profile_; }

  // No loop is run after this one.
  void request_stop() { stop_ = true; }
  bool stop_requested() const { return stop_; }

 private:
  friend class estimator::HookRunner;

  Session& session_;
  int64_t step_;
  int64_t steps_ = 0;
  double seconds_ = 0;
  int64_t examples_ = 0;
  bool stop_ = false;
  bool profile_requested_ = false;
  std::vector<runtime::StepProfile> profile_;
};

// Called at the boundaries of loops of iterations_per_loop steps, on the thread that trains. The
// methods do nothing unless overridden. A hook may throw: training ends with that error, end() is
// not called.
class SessionRunHook {
 public:
  virtual ~SessionRunHook() = default;

  // Once, while the model's graph is the current one and may still grow.
  virtual void begin() {}
  // Tensors that after_run wants to see; asked once, after begin().
  virtual std::vector<Output> fetches() { return {}; }
  // Variables have their values. What is added to the graph from here on is no part of the step.
  virtual void after_create_session(Session& session) { static_cast<void>(session); }
  virtual void before_run(RunContext& context) { static_cast<void>(context); }
  // `values`: those of fetches() in the last step of the loop, on replica 0.
  virtual void after_run(RunContext& context, std::span<const Tensor> values) {
    static_cast<void>(context);
    static_cast<void>(values);
  }
  // The last loop was run, or end of input reached. All hooks are told, even where one throws,
  // CheckpointSaverHooks before others.
  virtual void end(Session& session) { static_cast<void>(session); }
  // What must survive a restart: kept beside each checkpoint under the hook's name, and given back
  // before after_create_session. Nothing is kept without a name.
  virtual std::string state_name() const { return ""; }
  virtual std::string save_state() const { return ""; }
  virtual void restore_state(std::string_view state) { static_cast<void>(state); }
};
using HookList = std::vector<std::shared_ptr<SessionRunHook>>;

// Fires every N steps or every so many seconds, the first time at once. (SecondOrStepTimer)
class LoopTimer {
 public:
  using Clock = std::function<double()>;  // seconds
  struct Options {
    std::optional<int64_t> every_steps = std::nullopt;
    std::optional<double> every_secs = std::nullopt;
    Clock clock = nullptr;  // the machine's when absent
  };
  explicit LoopTimer(Options options);

  bool should_trigger(int64_t step) const;
  struct Elapsed {
    double seconds = 0;
    int64_t steps = 0;
  };
  // Since the last time; nothing the first time.
  std::optional<Elapsed> triggered(int64_t step);

 private:
  Options options_;
  std::optional<int64_t> last_step_;
  double last_seconds_ = 0;
};

// Stops training at a global step, or after so many more. (tf.train.StopAtStepHook)
class StopAtStepHook : public SessionRunHook {
 public:
  struct Options {
    std::optional<int64_t> num_steps = std::nullopt;
    std::optional<int64_t> last_step = std::nullopt;
  };
  // Errors: INVALID_ARGUMENT unless one of the two is given.
  explicit StopAtStepHook(const Options& options);
  // Told before the first loop: a training that was complete when it began runs none.
  void stop_if_complete(RunContext& context);
  void before_run(RunContext& context) override { stop_if_complete(context); }
  void after_run(RunContext& context, std::span<const Tensor> values) override;

 private:
  Options options_;
};

// Logs values every N steps or seconds: "loss = 0.25, step = 200 (1.234 sec)".
// (tf.train.LoggingTensorHook)
class LoggingTensorHook : public SessionRunHook {
 public:
  struct Options {
    std::vector<std::pair<std::string, Output>> tensors = {};  // in this order
    std::optional<int64_t> every_n_iter = std::nullopt;
    std::optional<double> every_n_secs = std::nullopt;
    // Where a line goes; the log when absent.
    std::function<void(const std::string& line)> write = nullptr;
  };
  explicit LoggingTensorHook(Options options);
  std::vector<Output> fetches() override;
  void after_run(RunContext& context, std::span<const Tensor> values) override;

 private:
  Options options_;
  LoopTimer timer_;
};

// Fails training when the loss was no finite number in any step of a loop on any of the first
// `replicas`, which are all of them in the hook that every training has.
// (tf.train.NanTensorHook, which sees the last step on replica 0) Beside TensorFlow's: names that
// step and replica, and the first variable that has become non-finite too.
class NanTensorHook : public SessionRunHook {
 public:
  explicit NanTensorHook(Output loss, bool fail_on_nan_loss = true, int64_t replicas = 1)
      : loss_(loss), fail_(fail_on_nan_loss), replicas_(replicas) {}
  void begin() override;
  std::vector<Output> fetches() override { return {loss_, first_}; }
  void after_run(RunContext& context, std::span<const Tensor> values) override;

 private:
  Output loss_;
  bool fail_;
  int64_t replicas_;
  Output first_;  // by replica: the step in which its loss was first not finite; 0 for none
};

// Logs "global_step/sec: 123.4" and, where they are counted, "examples/sec: 5678" every N steps.
// (tf.train.StepCounterHook, ExamplesPerSecondHook)
class StepCounterHook : public SessionRunHook {
 public:
  struct Options {
    std::optional<int64_t> every_n_steps = 100;
    std::optional<double> every_n_secs = std::nullopt;
    // Also called with the figures, for summaries.
    std::function<void(int64_t step, double steps_per_sec, double examples_per_sec)> record =
        nullptr;
  };
  explicit StepCounterHook(Options options);
  void before_run(RunContext& context) override;
  void after_run(RunContext& context, std::span<const Tensor> values) override;

 private:
  Options options_;
  LoopTimer timer_;
  int64_t examples_ = 0;
};

// Calls `save` every N steps or seconds, at the start, and at the end. One without `save` among the
// hooks of an Estimator's training saves its checkpoints, behind all other hooks, in place of what
// RunConfig says of when; among those of a MonitoredSession it saves into its checkpoint_dir, in
// place of what MonitoredTrainingSession has of itself.
// (tf.train.CheckpointSaverHook)
class CheckpointSaverHook final : public SessionRunHook {
 public:
  struct Options {
    std::optional<int64_t> save_steps = std::nullopt;
    std::optional<double> save_secs = std::nullopt;
    std::function<void(Session& session, int64_t global_step)> save = nullptr;
  };
  explicit CheckpointSaverHook(Options options);
  const Options& options() const { return options_; }
  // Errors: INVALID_ARGUMENT without `save`.
  void begin() override;
  void before_run(RunContext& context) override;
  void after_run(RunContext& context, std::span<const Tensor> values) override;
  void end(Session& session) override;

 private:
  void save(Session& session, int64_t step);

  Options options_;
  LoopTimer timer_;
  int64_t step_ = -1;
  std::optional<int64_t> saved_;
};

// Runs tensors once the last loop is over. (tf.train.FinalOpsHook)
class FinalOpsHook : public SessionRunHook {
 public:
  explicit FinalOpsHook(std::vector<Output> final_ops) : final_ops_(std::move(final_ops)) {}
  void end(Session& session) override;
  // Of final_ops, from the end on.
  const std::vector<Tensor>& final_ops_values() const { return values_; }

 private:
  std::vector<Output> final_ops_;
  std::vector<Tensor> values_;
};

// The first element that is no finite number: "inf at [3,0]"; nothing when all are finite.
std::optional<std::string> first_non_finite(const Tensor& value);

}  // namespace systole
