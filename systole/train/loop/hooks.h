// Hooks: code that runs between the loops of a training, an evaluation or a prediction.
// (tf.train.SessionRunHook and its subclasses)
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "systole/runtime/client.h"
#include "systole/session/session.h"

namespace systole {

namespace train {
class HookRunner;
}

// The loop that is about to run (in before_run) or has run (in after_run).
class RunContext {
 public:
  RunContext(Session& session, int64_t global_step) : session_(session), step_(global_step) {}

  Session& session() const { return session_; }
  // The value of the global step variable, after the loop in after_run.
  int64_t global_step() const { return step_; }
  // Returns the number of steps of the last loop.
  int64_t steps() const { return steps_; }
  double seconds() const { return seconds_; }
  int64_t examples() const { return examples_; }

  // No further loop runs.
  void request_stop() { stop_ = true; }
  bool stop_requested() const { return stop_; }

 private:
  friend class train::HookRunner;

  Session& session_;
  int64_t step_;
  int64_t steps_ = 0;
  double seconds_ = 0;
  int64_t examples_ = 0;
  bool stop_ = false;
};

// Called between loops, on the thread that trains. The methods do nothing unless overridden. When a
// hook throws, training ends with that error, and end() is not called; but an OUT_OF_RANGE error of
// after_run() ends it as request_stop() does, with a warning.
class SessionRunHook {
 public:
  virtual ~SessionRunHook() = default;

  // Once, while the model's graph is the current one and may still grow.
  virtual void begin() {}
  // Tensors for after_run. Called once, after begin().
  virtual std::vector<Output> fetches() { return {}; }
  // Called once the variables have values. Nodes added to the graph from here on are not part of
  // the step.
  virtual void after_create_session(Session& session) { static_cast<void>(session); }
  // Returns how many steps (batches in an evaluation) may run before after_run() must be called,
  // when it was last called at `global_step`; at least 1. A loop whose length was not chosen is as
  // long as the smallest answer.
  virtual int64_t steps_to_next_run(int64_t global_step) const {
    static_cast<void>(global_step);
    return 1;
  }
  virtual void before_run(RunContext& context) { static_cast<void>(context); }
  // `values`: those of fetches() in the last step of the loop, on replica 0.
  virtual void after_run(RunContext& context, std::span<const Tensor> values) {
    static_cast<void>(context);
    static_cast<void>(values);
  }
  // The last loop has run, or the input ended. All hooks are called, even if one throws;
  // CheckpointSaverHooks first.
  virtual void end(Session& session) { static_cast<void>(session); }
  // State that must survive a restart. It is saved with each checkpoint under this name, and
  // restored before after_create_session(). A hook without a name has no state.
  virtual std::string state_name() const { return ""; }
  virtual std::string save_state() const { return ""; }
  virtual void restore_state(std::string_view state) { static_cast<void>(state); }
};

using HookList = std::vector<std::shared_ptr<SessionRunHook>>;

// Fires every N steps or seconds; the first time at once. (tf.train.SecondOrStepTimer)
class LoopTimer {
 public:
  using Clock = std::function<double()>;  // seconds
  struct Options {
    std::optional<int64_t> every_steps = std::nullopt;
    std::optional<double> every_secs = std::nullopt;
    Clock clock = nullptr;  // the machine's if null
  };
  // Errors: INVALID_ARGUMENT unless one of the two is given.
  explicit LoopTimer(Options options);
  // For a hook with two options of its own names, which `error` tells. Errors: as above.
  static Options one_of(std::string_view error, std::optional<int64_t> every_steps,
                        std::optional<double> every_secs);

  bool should_trigger(int64_t step) const;
  // Returns how many steps after `step` the timer fires, if nothing happens before.
  int64_t steps_to_trigger(int64_t step) const;
  struct Elapsed {
    double seconds = 0;
    int64_t steps = 0;
  };
  // Restarts the timer. Returns the time since the last restart; nothing the first time.
  std::optional<Elapsed> triggered(int64_t step);

 private:
  Options options_;
  std::optional<int64_t> last_step_;
  double last_seconds_ = 0;
};

// Stops training at a global step, or after a number of steps. (tf.train.StopAtStepHook)
class StopAtStepHook : public SessionRunHook {
 public:
  struct Options {
    std::optional<int64_t> num_steps = std::nullopt;
    std::optional<int64_t> last_step = std::nullopt;
  };
  // Errors: INVALID_ARGUMENT unless exactly one of the two is given.
  explicit StopAtStepHook(const Options& options);
  // Called before the first loop: a training that is already complete runs none.
  void stop_if_complete(RunContext& context);
  int64_t steps_to_next_run(int64_t global_step) const override;
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
    std::vector<std::pair<std::string, Output>> tensors = {};  // in the order of the line
    std::optional<int64_t> every_n_iter = std::nullopt;
    std::optional<double> every_n_secs = std::nullopt;
    // Receives each line; the log if null.
    std::function<void(const std::string& line)> write = nullptr;
  };
  // Errors: INVALID_ARGUMENT unless one of every_n_iter and every_n_secs is given, and for an
  // every_n_iter below 1.
  explicit LoggingTensorHook(Options options);
  std::vector<Output> fetches() override;
  int64_t steps_to_next_run(int64_t global_step) const override;
  void after_run(RunContext& context, std::span<const Tensor> values) override;

 private:
  Options options_;
  LoopTimer timer_;
  int64_t iterations_ = 0;  // an evaluation has one global step
  int64_t global_step_ = 0;
};

// Fails training when the loss was not finite in any step of the loop, on any of the first
// `replicas` replicas. (tf.train.NanTensorHook, which looks at the last step on replica 0.) The
// error names the step, the replica, and the first variable that is not finite either.
class NanTensorHook : public SessionRunHook {
 public:
  explicit NanTensorHook(Output loss, bool fail_on_nan_loss = true, int64_t replicas = 1)
      : loss_(loss), fail_(fail_on_nan_loss), replicas_(replicas) {}
  // Whether the loss was finite in every step so far. `values`: those of fetches().
  static bool is_finite(std::span<const Tensor> values);
  void begin() override;
  std::vector<Output> fetches() override { return {loss_, first_}; }
  int64_t steps_to_next_run(int64_t) const override { return INT64_MAX; }
  void after_run(RunContext& context, std::span<const Tensor> values) override;

 private:
  Output loss_;
  bool fail_;
  int64_t replicas_;
  Output first_;  // [replicas]: the first step whose loss was not finite; 0: none
};

// Logs "global_step/sec: 123.4" and, where examples are counted, "examples/sec: 5678" every N
// steps. Warns once when a loop leaves the global step as it was. (tf.train.StepCounterHook,
// ExamplesPerSecondHook)
class StepCounterHook : public SessionRunHook {
 public:
  struct Options {
    std::optional<int64_t> every_n_steps = 100;
    std::optional<double> every_n_secs = std::nullopt;
    // Also receives the figures, for summaries.
    std::function<void(int64_t step, double steps_per_sec, double examples_per_sec)> record =
        nullptr;
  };
  // Errors: INVALID_ARGUMENT unless one of every_n_steps and every_n_secs is given.
  explicit StepCounterHook(Options options);
  int64_t steps_to_next_run(int64_t global_step) const override {
    return timer_.steps_to_trigger(global_step);
  }
  void before_run(RunContext& context) override;
  void after_run(RunContext& context, std::span<const Tensor> values) override;

 private:
  Options options_;
  LoopTimer timer_;
  int64_t examples_ = 0;
  int64_t step_before_ = 0;
  bool warned_ = false;
};

// Called around every checkpoint of a training. (tf.train.CheckpointSaverListener)
class CheckpointSaverListener {
 public:
  virtual ~CheckpointSaverListener() = default;
  // Once, while the graph is current and may still grow.
  virtual void begin() {}
  virtual void before_save(Session& session, int64_t global_step) {
    static_cast<void>(session);
    static_cast<void>(global_step);
  }
  // The checkpoint is written. Returns true to stop training.
  virtual bool after_save(Session& session, int64_t global_step) {
    static_cast<void>(session);
    static_cast<void>(global_step);
    return false;
  }
  // After the last checkpoint, which is of `global_step`.
  virtual void end(Session& session, int64_t global_step) {
    static_cast<void>(session);
    static_cast<void>(global_step);
  }
};

// A listener, or a function (Session&, int64_t global_step) to call after each save.
class SavingListener {
 public:
  template <std::derived_from<CheckpointSaverListener> T>
  SavingListener(std::shared_ptr<T> listener)  // NOLINT(google-explicit-constructor)
      : listener_(std::move(listener)) {}
  template <std::invocable<Session&, int64_t> F>
  SavingListener(F after_save)  // NOLINT(google-explicit-constructor)
      : listener_(std::make_shared<Function<F>>(std::move(after_save))) {}

  CheckpointSaverListener* operator->() const { return listener_.get(); }
  explicit operator bool() const { return listener_ != nullptr; }

 private:
  template <class F>
  class Function : public CheckpointSaverListener {
   public:
    explicit Function(F function) : function_(std::move(function)) {}
    bool after_save(Session& session, int64_t global_step) override {
      if constexpr (std::same_as<std::invoke_result_t<F&, Session&, int64_t>, bool>) {
        return function_(session, global_step);
      } else {
        function_(session, global_step);
        return false;
      }
    }

   private:
    F function_;
  };

  std::shared_ptr<CheckpointSaverListener> listener_;
};

// Calls `save` before the first step, every N steps or seconds, and at the end. Without `save`,
// among the hooks of a training, it saves the training's checkpoints in place of the configured
// schedule, after all other hooks; in a MonitoredSession it saves to its checkpoint_dir.
// (tf.train.CheckpointSaverHook)
class CheckpointSaverHook final : public SessionRunHook {
 public:
  struct Options {
    std::optional<int64_t> save_steps = std::nullopt;
    std::optional<double> save_secs = std::nullopt;
    std::function<void(Session& session, int64_t global_step)> save = nullptr;
    // Waits until the file that `save` began is written, for after_save(). Null: `save` writes it.
    std::function<void()> wait = nullptr;
    std::vector<SavingListener> listeners = {};
  };
  // Errors: INVALID_ARGUMENT unless one of save_steps and save_secs is given, and for a null
  // listener.
  explicit CheckpointSaverHook(Options options);
  const Options& options() const { return options_; }
  // Whether it saves after a loop that ends at this step.
  bool is_due(int64_t global_step) const { return timer_.should_trigger(global_step); }
  // Errors: INVALID_ARGUMENT without `save`.
  void begin() override;
  int64_t steps_to_next_run(int64_t global_step) const override {
    return timer_.steps_to_trigger(global_step);
  }
  void before_run(RunContext& context) override;
  void after_run(RunContext& context, std::span<const Tensor> values) override;
  void end(Session& session) override;

 private:
  // Returns true when a listener wants to stop.
  bool save(Session& session, int64_t step);

  Options options_;
  LoopTimer timer_;
  int64_t step_ = -1;
  std::optional<int64_t> saved_;
};

// Runs tensors after the last loop. (tf.train.FinalOpsHook)
class FinalOpsHook : public SessionRunHook {
 public:
  explicit FinalOpsHook(std::vector<Output> final_ops) : final_ops_(std::move(final_ops)) {}
  int64_t steps_to_next_run(int64_t) const override { return INT64_MAX; }
  void end(Session& session) override;
  // The values of final_ops; empty before end().
  const std::vector<Tensor>& final_ops_values() const { return values_; }

 private:
  std::vector<Output> final_ops_;
  std::vector<Tensor> values_;
};

// Returns the first element that is not finite, "inf at [3,0]"; nothing when all are finite.
std::optional<std::string> first_non_finite(const Tensor& value);

}  // namespace systole
