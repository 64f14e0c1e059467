// The training loop: launches of several steps, with input, hooks, checkpoints and resume.
//
// Front ends describe one step and its input; the loop does the rest. See README.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "systole/data/feed/step_feed.h"
#include "systole/runtime/process_group.h"
#include "systole/tracing/span.h"
#include "systole/train/loop/checkpointer.h"
#include "systole/train/loop/hook_runner.h"
#include "systole/train/loop/iterations_per_loop.h"
#include "systole/train/loop/step_driver.h"
#include "systole/train/loop/step_runner.h"
#include "systole/train/loop/train_step.h"
#include "systole/train/loop/train_summaries.h"
#include "systole/train/loop/watchdog.h"

namespace systole::train {

// What `on_steps` gets after a launch.
struct StepValues {
  std::span<const Tensor> values;  // of TrainStep::each_step, [steps, replicas, ...]
  int64_t first = 0;               // the global step before the launch
  int64_t steps = 1;
  int64_t in_loop = 0;  // steps of the same loop before the launch
};

// When and where a training saves and reports.
struct TrainRecords {
  // Checkpoints, and by default summaries, are in this folder.
  std::string directory = {};
  // At most one; without one no checkpoints are saved. A CheckpointSaverHook without `save` among
  // the user's hooks takes their place.
  std::optional<int64_t> save_checkpoints_steps = std::nullopt;
  std::optional<double> save_checkpoints_secs = std::nullopt;
  SaverOptions saver = {};  // var_list: all global variables when empty
  RestoreOptions restore = {};
  std::vector<SavingListener> listeners = {};
  // Called before each checkpoint. Its errors end the training without one.
  std::function<void()> before_save = nullptr;
  int64_t save_summary_steps = 0;    // 0: no summaries
  int64_t log_step_count_steps = 0;  // 0: no lines with loss and speed
};

struct TrainLoopOptions {
  std::shared_ptr<Graph> graph;  // with the step; hooks and complete_graph may add to it
  TrainStep step;
  // Called once hooks have begun, while `graph` is current. Returns what a step runs: the train op
  // and updates. Nothing adds to the step afterwards.
  std::function<std::vector<Operation>()> complete_graph;
  // Returns a session of the completed graph, whose local variables are initialised.
  std::function<std::unique_ptr<Session>()> make_session;
  // Gives the variables their first values, unless a checkpoint was restored. `graph` is current.
  std::function<void(Session&)> initialize;

  data::StepSource input;
  // Types of a replica's batch in one step. If they are static the step is compiled while the rest
  // is prepared.
  std::vector<TensorType> batch = {};
  bool fixed_batch = false;  // a batch of another size is an error
  std::optional<uint64_t> entropy = std::nullopt;

  // The end: so many more steps, or this global step. Absent: the end of the input.
  std::optional<int64_t> steps = std::nullopt;
  std::optional<int64_t> max_steps = std::nullopt;
  // Steps of one loop, between which hooks run. Absent: as many as no hook needs to see
  // (SessionRunHook::steps_to_next_run).
  std::optional<IterationsPerLoop> iterations_per_loop = std::nullopt;

  HookList hooks = {};  // the user's, called before those of the loop
  bool fail_on_nan = true;
  TrainRecords records;
  std::function<void(const StepValues& values, Heartbeat& heartbeat)> on_steps = nullptr;
};

// A training of one model on one device. The global step variable counts, and decides when training
// ends; a step may add 0 to it (accumulated gradients) or more than 1. Training that was stopped at
// any checkpoint and continued is bit for bit the one that was not: checkpoints hold the position
// in the input, the random state and the state of hooks. Checkpoints of several processes hold the
// number of steps that were read instead of the position, for any number of processes to continue:
// the input is read again up to there. Not thread-safe. run_until() and finish()
// may run on a thread that is abandoned when it hangs (WatchedThread): callers share ownership of
// the loop with it.
class TrainLoop : private StepListener, private StepInput {
 public:
  // Begins the hooks, restores the newest checkpoint or initialises the variables. Errors: those of
  // hooks, of the session and of checkpoints; INVALID_ARGUMENT when the step does not change the
  // global step, and for listeners without checkpoints.
  explicit TrainLoop(TrainLoopOptions options);
  ~TrainLoop() override;
  TrainLoop(const TrainLoop&) = delete;
  TrainLoop& operator=(const TrainLoop&) = delete;

  // Why run_until() returned. `stopped`: a hook asked for it, or a signal came (StopSignals).
  using End = StepDriver::End;

  // Runs until the global step is `last_step` or more. Input is read ahead up to the global step
  // `read_until`, if that is more. Errors: those of the input, of hooks and of the device;
  // FAILED_PRECONDITION for a loss that is not finite, naming the feature or label that caused it.
  End run_until(int64_t last_step, Heartbeat& heartbeat, int64_t read_until = 0);
  // Tells the hooks that training ended, which saves the last checkpoint, and waits until it is
  // written. Errors: those of hooks and of writing.
  void finish(Heartbeat& heartbeat);

  // The global step at which options.steps or options.max_steps ends training.
  int64_t last_step() const { return last_step_; }
  int64_t global_step() const { return step_; }
  // Steps run by this object.
  int64_t steps_run() const { return steps_run_; }
  Session& session() { return *session_; }
  // The loss of the last step on replica 0. Absent before the first step.
  std::optional<double> last_loss() const;

 private:
  HookList make_hooks();
  void add_checkpoint_hook(HookList& hooks, std::optional<CheckpointSaverHook::Options> users);
  void start();
  void share_start();
  void find_position();
  // Whether rank 0 will save after the next steps, which takes time.
  bool save_is_due(int64_t steps) const;
  void check_global_step();
  void begin_at_global_step();
  int64_t read_global_step() const;
  void save(Session& session, int64_t step);

  void make_feed(const std::optional<std::string>& position);
  void skip_input();
  void begin_input();
  void make_runner(int64_t step_bytes);
  void prepare();
  int64_t loop_length(int64_t step, int64_t last_step) const;
  // What the driver calls: its input is the feed, its listener calls the hooks between loops.
  std::optional<data::StackedSteps> next(int64_t steps, int64_t ahead) override;
  std::string advice() const override { return feed_->report().advice(); }
  int64_t position() const override { return step_ + (loop_ ? loop_->done : 0); }
  bool goes_on() override;
  int64_t launch_limit(int64_t after) override;
  bool saves_after(int64_t steps) const override;
  bool after_launch(const StepLaunch& launch) override;
  // Ends the loop and calls the hooks. Returns false when one wants to stop.
  bool close_loop();

  // Steps after which hooks run, in one launch or several.
  struct Loop {
    Loop(int64_t first, int64_t count)
        : steps(count),
          span("loop", tracing::Kind::loop, {"step", first}, {"steps", count}),
          start(std::chrono::steady_clock::now()) {}
    int64_t steps;
    int64_t done = 0;
    int64_t examples = 0;
    tracing::Span span;
    std::chrono::steady_clock::time_point start;
  };

  const TrainLoopOptions options_;
  Heartbeat* heartbeat_ = nullptr;  // of run_until() or finish()
  std::vector<Operation> targets_;
  std::shared_ptr<NanTensorHook> nan_hook_;
  std::shared_ptr<TrainSummariesHook> summaries_;
  std::unique_ptr<HookRunner> hooks_;
  std::unique_ptr<Session> session_;
  std::optional<Checkpointer> checkpointer_;
  std::optional<data::StepFeed> feed_;
  std::optional<StepRunner> runner_;
  StepDriver driver_;
  std::optional<IterationCountEstimator> timed_loop_;
  Variable global_step_;

  int64_t max_launch_steps_ = 1;
  int64_t step_increment_ = 1;  // of the global step in one step, at most
  int64_t step_ = 0;            // the global step
  int64_t steps_run_ = 0;       // by this object
  int64_t last_step_ = INT64_MAX;
  int64_t run_until_ = 0;   // of the call of run_until()
  int64_t read_until_ = 0;  // the same
  bool input_ended_ = false;
  int64_t steps_read_ = 0;           // since the input began
  int64_t steps_to_skip_ = 0;        // of the input, before the first step
  std::optional<uint64_t> entropy_;  // of the input
  std::shared_ptr<CheckpointSaverHook> checkpoint_hook_;

  std::optional<Loop> loop_;    // the current one
  std::vector<Tensor> values_;  // of the hooks' fetches
  std::string bad_batch_;       // what is wrong with the batch whose loss is not finite
};

}  // namespace systole::train
