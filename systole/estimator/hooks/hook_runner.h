// Hooks around the loops of a training, an evaluation or a prediction.
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "systole/estimator/hooks/hooks.h"
#include "systole/train/saver.h"

namespace systole::estimator {

// A loop that was run.
struct LoopRun {
  int64_t global_step = 0;  // as of its end
  int64_t steps = 0;
  double seconds = 0;
  int64_t examples = 0;
  std::vector<runtime::StepProfile> profile = {};
};

// Whether the hook says when a training's checkpoints are saved: a CheckpointSaverHook without
// `save`.
bool is_checkpoint_schedule(const SessionRunHook* hook);

// Takes the user's hook that is to save the checkpoints out of the hooks, and says when it would.
// Errors: INVALID_ARGUMENT for a second one.
std::optional<CheckpointSaverHook::Options> take_checkpoint_schedule(HookList& hooks);

// Random numbers go on as the checkpoint has them; they begin anew, with a warning, where it is of
// another graph or has none.
void restore_random_state(Session& session, const CheckpointExtras& extras);

// Does several things of which each is wanted whatever becomes of the others.
class FirstError {
 public:
  // An error is kept, or logged where there is one already.
  void attempt(const std::function<void()>& action);
  // Throws what was kept.
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::exception_ptr error_;
};

// Not thread-safe. The methods are called in the order in which they stand.
class HookRunner {
 public:
  // Begins them while `graph` may still grow. Errors: INVALID_ARGUMENT for a null pointer.
  HookRunner(HookList hooks, Graph& graph);

  // Puts a PrintHook in front where the graph prints something that hooks or `step`, what the
  // loops run, need.
  void add_prints(const Graph& graph, std::span<const Output> step,
                  std::span<const Operation> targets = {});
  const HookList& hooks() const { return hooks_; }
  // What they want to see after a loop, the first hook's first.
  const std::vector<Output>& fetches() const { return fetches_; }
  // Variables have their values. The session outlives the pass. False when a StopAtStepHook wants
  // no loop: training was complete before.
  bool start(Session& session, int64_t global_step);
  // Around a loop; `values` are those of fetches(). False when a hook wants no more loops.
  bool before();
  bool profile_requested() const { return context_->profile_requested(); }
  bool after(LoopRun run, std::span<const Tensor> values);
  // CheckpointSaverHooks first, so that what another does at its end is in no checkpoint. All are
  // told; the first error is thrown when they were.
  void end();
  // What hooks keep beside a checkpoint.
  void save_states(CheckpointExtras& extras) const;
  void restore_states(const CheckpointExtras& extras);

 private:
  HookList hooks_;
  std::vector<Output> fetches_;
  std::vector<size_t> fetches_of_hook_;  // how many each asked for
  std::optional<RunContext> context_;
};

// Of a result of all replicas, [replicas, ...], that of the first.
Tensor of_first_replica(const Tensor& result);

// These rows of a tensor, in this order, in memory of their own. REQUIRES: it has a row.
Tensor take_rows(const Tensor& from, std::span<const int64_t> rows);

// What hooks see of results: the values of the last step on replica 0. `steps`: how many steps the
// results hold, [steps, replicas, ...]; 0: the last one alone, [replicas, ...].
std::vector<Tensor> hook_values(std::span<const Tensor> results, int64_t steps);

}  // namespace systole::estimator
