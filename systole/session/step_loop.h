// Runs several steps in one launch, on one or more replicas. Training, evaluation and prediction
// use it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "systole/graph/core/graph.h"
#include "systole/graph/core/variable.h"
#include "systole/runtime/client.h"
#include "systole/runtime/process_group.h"
#include "systole/session/device/variable_snapshot.h"
#include "systole/session/session.h"

namespace systole {

struct StepLoopOptions {
  // Tensors, usually placeholders, with a new value for each step.
  std::vector<Output> inputs = {};
  // The inputs' types for one replica and one step. Static.
  std::vector<TensorType> input_types = {};
  // Values that the caller gets.
  std::vector<Output> fetches = {};
  // Operations that each step runs, such as a train_op.
  std::vector<Operation> targets = {};
  int num_replicas = 1;  // of this process
  // The processes that run the loop together, each with as many replicas and its own inputs; they
  // call run() and launch() together, with as many steps. Null: this process alone. The first call
  // compares their programs. Outlives the loop.
  runtime::ProcessGroup* processes = nullptr;
  // The largest number of steps of one launch. Fewer steps need no other program.
  int64_t max_steps = 1;
  // Whether the fetches of the last step or of every step are kept.
  enum class Keep : uint8_t { last, every_step } keep = Keep::last;
  // Variables to which each replica adds its own contribution, such as accumulators of metrics:
  // their updates are summed over the replicas.
  std::vector<Variable> summed = {};
  // With `profile` set: see StepLoop::profile().
  runtime::ProgramOptions program = {};
  // Compile on another thread. The first call of run(), launch(), stats(), compile_seconds() or
  // optimized_program() waits for it. Each of them then throws the errors of the compiler.
  bool compile_beside = false;

  // The replicas of all processes.
  int all_replicas() const { return num_replicas * (processes == nullptr ? 1 : processes->size()); }
};

// A graph's step, compiled as one program
//   while (i < steps) { one step on slice i of the inputs; }
// for all replicas in lockstep. The loop updates the session's variables in place, with one value
// for all replicas. A variable whose update differs between replicas (moving averages of
// per-replica statistics) gets the mean of the replicas' values after each step, or replica 0's
// value if it is no float; one of `summed` gets the sum of the contributions. Random ops draw in
// step i the numbers of the i-th next run of the session; replica r draws those of its part of the
// whole batch. Of several processes, all replicas are meant: the first of process p is replica
// p * num_replicas. Results do not depend on how steps are divided into launches. One thread at a
// time uses a StepLoop. Runs exclude other runs of the session, which must outlive the loop.
class StepLoop {
 public:
  // Compiles, or starts to (compile_beside). Errors: INVALID_ARGUMENT for tensors that Session::run
  // refuses, for types that are not static, and for numbers below 1; RESOURCE_EXHAUSTED if a step
  // needs more memory than a core has; UNIMPLEMENTED for ops that run on the host.
  StepLoop(Session& session, StepLoopOptions options);
  ~StepLoop();
  StepLoop(StepLoop&&) noexcept;
  StepLoop& operator=(StepLoop&&) noexcept;

  // One tensor an input, [num_replicas, max_steps, ...], of which the first `steps` of each replica
  // are read. Errors: INVALID_ARGUMENT for other types, and steps that are not in [1, max_steps];
  // FAILED_PRECONDITION for an uninitialised variable; that of a failed check, and no variable has
  // changed then. Of several processes also INVALID_ARGUMENT on all of them for programs that
  // differ, and the errors of runtime::ProcessGroup.
  void run(std::span<const Tensor> inputs, int64_t steps);

  // A launch in progress.
  class Launch;
  // Enqueues the launch that run() makes, and returns. On an asynchronous device the next launch,
  // or another run of the session, can be enqueued before this one ends. A loop with checks waits
  // for the end, since the checks decide whether variables change. Errors: those of run(), thrown
  // here or by the Launch. If a launch fails later, the variables that it updates report its error.
  Launch launch(std::span<const Tensor> inputs, int64_t steps);

  // Returns the present values of variables, for a saver. Copies only variables that an earlier
  // snapshot shares. The next run copies each variable that it updates, once, unless the loop
  // double_buffers_updates(). Errors: FAILED_PRECONDITION for an uninitialised variable.
  static VariableSnapshot snapshot(Session& session, std::span<const Variable> variables);
  // Sets each variable to the value at its index. A variable takes over memory that nobody shares
  // if the device is this machine. Errors: those of Session::set_variable, with nothing set.
  // REQUIRES: as many values as variables.
  static void set_variables(Session& session, std::span<const Variable> variables,
                            std::vector<Tensor> values);
  // Whether the first step after a snapshot writes its updates to a second set of buffers instead
  // of copying. Becomes true for loops with large variables some time after the session's first
  // snapshot; never with Keep::every_step.
  bool double_buffers_updates() const;

  // The results of the last run(): for each fetch [num_replicas, ...] of the last step or, with
  // Keep::every_step, [steps, num_replicas, ...]. The next run reuses the memory unless the caller
  // keeps a copy of the Tensor.
  std::span<const Tensor> results() const;

  // The steps of the last run() in program order. Empty without options().program.profile, and on
  // backends that measure no times.
  std::span<const runtime::StepProfile> profile() const;

  const StepLoopOptions& options() const;
  // For all replicas together.
  const runtime::ExecutableStats& stats() const;
  double compile_seconds() const;
  // Names of the variables whose updates are averaged over replicas, or taken from replica 0.
  std::span<const std::string> averaged_variables() const;
  // The program after the backend's passes, as text.
  std::string optimized_program() const;

 private:
  struct Impl;
  struct Frame;
  std::unique_ptr<Impl> impl_;
};

// The loop must outlive it. One thread at a time uses a loop and its launches.
class [[nodiscard]] StepLoop::Launch {
 public:
  Launch(Launch&&) noexcept;
  ~Launch();  // waits for the end
  bool ready() const;
  // Waits, and returns the same as StepLoop::results(); valid as long as the Launch. Errors: those
  // of the launch.
  std::span<const Tensor> results();

 private:
  friend class StepLoop;
  Launch(Impl& loop, std::unique_ptr<Frame> frame);
  Impl* loop_;
  std::unique_ptr<Frame> frame_;
};

}  // namespace systole
