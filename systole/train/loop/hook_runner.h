// Calls the hooks of a training, an evaluation or a prediction.
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "systole/train/loop/hooks.h"
#include "systole/train/saver.h"

namespace systole::train {

// A loop that has run.
struct LoopRun {
  int64_t global_step = 0;  // after it
  int64_t steps = 0;
  double seconds = 0;
  int64_t examples = 0;
};

// Returns whether the hook is a schedule for the training's checkpoints: a CheckpointSaverHook
// without `save`.
bool is_checkpoint_schedule(const SessionRunHook* hook);

// Removes the checkpoint schedule from the hooks and returns its options; nothing without one.
// Errors: INVALID_ARGUMENT for a second one.
std::optional<CheckpointSaverHook::Options> take_checkpoint_schedule(HookList& hooks);

// Sets the session's random state from a checkpoint. A checkpoint of another graph leaves it as it
// is, with a warning.
void restore_random_state(Session& session, const CheckpointExtras& extras);

// Runs several actions, each even if others fail.
class FirstError {
 public:
  // Keeps the first error, logs later ones.
  void attempt(const std::function<void()>& action);
  // Throws the first error, if any.
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::exception_ptr error_;
};

// Not thread-safe. Call the methods in the order of their declaration.
class HookRunner {
 public:
  // Calls begin() of each, with `graph` current. Errors: INVALID_ARGUMENT for a null pointer.
  HookRunner(HookList hooks, Graph& graph);

  // Adds a PrintHook in front if hooks, or the fetches `step` and `targets` of the loops, need
  // Print ops of the graph.
  void add_prints(const Graph& graph, std::span<const Output> step,
                  std::span<const Operation> targets = {});
  const HookList& hooks() const { return hooks_; }
  // The fetches of all hooks, in the order of hooks().
  const std::vector<Output>& fetches() const { return fetches_; }
  // The part of `values`, those of fetches(), that belongs to a hook. REQUIRES: it is in hooks().
  std::span<const Tensor> values_of(const SessionRunHook& hook,
                                    std::span<const Tensor> values) const;
  // The smallest SessionRunHook::steps_to_next_run(); INT64_MAX without hooks.
  int64_t steps_to_next_run(int64_t global_step) const;
  // Variables have their values. The session outlives this object. Returns false when a
  // StopAtStepHook is already complete.
  bool start(Session& session, int64_t global_step);
  // Before and after a loop; `values` are those of fetches(). Both return false when a hook asked
  // to stop.
  bool before();
  bool after(const LoopRun& run, std::span<const Tensor> values);
  // Calls end() of all hooks, CheckpointSaverHooks first: the last checkpoint does not contain what
  // others do at the end. Throws the first error after all were called.
  void end();
  // The state of hooks in a checkpoint.
  void save_states(CheckpointExtras& extras) const;
  void restore_states(const CheckpointExtras& extras);

 private:
  HookList hooks_;
  std::vector<Output> fetches_;
  std::vector<size_t> fetches_of_hook_;   // how many each asked for
  std::vector<const char*> class_names_;  // of each, for recordings
  std::optional<RunContext> context_;
};

// Returns replica 0 of a result, [replicas, ...].
Tensor of_first_replica(const Tensor& result);

// Copies these rows of a tensor, in this order. REQUIRES: `from` has a row.
Tensor take_rows(const Tensor& from, std::span<const int64_t> rows);

// Returns the values of the last step on replica 0. `steps`: the results are of so many steps,
// [steps, replicas, ...]; 0: of the last step only, [replicas, ...].
std::vector<Tensor> hook_values(std::span<const Tensor> results, int64_t steps);

}  // namespace systole::train
