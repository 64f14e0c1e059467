// Several steps in one launch, on one or more replicas: how training, evaluation and prediction
// run.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "systole/graph/api/graph.h"
#include "systole/graph/api/variable.h"
#include "systole/runtime/client.h"
#include "systole/session/session.h"
#include "systole/session/variable_snapshot.h"

namespace systole {

struct StepLoopOptions {
  // What each step reads anew, placeholders usually.
  std::vector<Output> inputs;
  // Their types, of one replica and one step. Static.
  std::vector<TensorType> input_types;
  // Values of a step that the caller wants to see.
  std::vector<Output> fetches;
  // What a step does besides: a train_op.
  std::vector<Operation> targets;
  int num_replicas = 1;
  // The most steps of one launch; fewer may be run without another compilation.
  int64_t max_steps = 1;
  // Fetches of the last step, or of all of them.
  enum class Keep : uint8_t { last, every_step } keep = Keep::last;
  // Variables to which replicas add what they have seen: the sums over all replicas are kept
  // (accumulators of metrics).
  std::vector<Variable> summed = {};
  // Products with inputs rounded to bf16, as a TPU's matrix unit computes them.
  bool bf16_products = false;
  // Takes the time of every operation: see profile().
  bool profile = false;
  // Compiles on a thread of its own, beside what the caller does until the first call of run(),
  // stats(), compile_seconds() or optimized_program(), which waits for it. These have the errors of
  // the backend then, every time.
  bool compile_beside = false;
};

// A graph's step, compiled as one program
//   while (i < steps) { one step on slice i of the inputs; }
// for all replicas in lockstep. Variables are the session's: the loop updates them in place, one
// value for all replicas. A variable whose update differs between replicas (moving averages of
// per-replica statistics) gets the mean of the replicas' values after each step, replica 0's when
// it is no float; one of `summed` the sum of what they add. Random ops draw in step i what they
// would draw in the i-th run of the session from now on; replica r draws what one program for the
// whole batch would draw for its part of it. Results are the same however steps are divided into
// launches. One thread uses a StepLoop at a time; runs take turns with other runs of the session,
// which must outlive it.
class StepLoop {
 public:
  // Compiles, or begins to (compile_beside). Errors: INVALID_ARGUMENT for what Session::run would
  // refuse, for types that are not static, and for numbers below 1; RESOURCE_EXHAUSTED when a step
  // needs more memory than a core has; UNIMPLEMENTED for ops that run on the host.
  StepLoop(Session& session, StepLoopOptions options);
  ~StepLoop();
  StepLoop(StepLoop&&) noexcept;
  StepLoop& operator=(StepLoop&&) noexcept;

  // One tensor an input, [num_replicas, max_steps, ...], of which the first `steps` of each replica
  // are read. Errors: INVALID_ARGUMENT for other types, and steps that are not in [1, max_steps];
  // FAILED_PRECONDITION for an uninitialised variable; a failed check's own, and no variable has
  // changed then.
  void run(std::span<const Tensor> inputs, int64_t steps);

  // A launch that the device works on.
  class Launch;
  // As run(), but returns when the device has the work: the next launch, or another run of the
  // session, may be enqueued before it ends, and waits on the device for the variables. A loop with
  // checks waits for its end, since they decide whether variables change. Errors: those of run(),
  // here or from the Launch; after a failure that shows later the updated variables have its error.
  Launch launch(std::span<const Tensor> inputs, int64_t steps);

  // The values of variables now, for a saver: nothing is copied but what an earlier snapshot still
  // shares. What is run while the snapshot is there copies what it updates, once; but for the loops
  // that go_on_beside_snapshots(). Errors: FAILED_PRECONDITION for an uninitialised variable.
  static VariableSnapshot snapshot(Session& session, std::span<const Variable> variables);
  // Sets variables, each to the value of its place, whose memory becomes the variable's where the
  // device is this machine and nobody else has it. Errors: those of Session::set_variable, with
  // nothing set. REQUIRES: as many values as variables.
  static void set_variables(Session& session, std::span<const Variable> variables,
                            std::vector<Tensor> values);
  // The first step after a snapshot writes its updates to other memory, as large again, which is
  // kept for the next one. Becomes true for loops of large variables some time after the session's
  // first snapshot, when what they need is made; not for those that keep every step's values.
  bool double_buffers_updates() const;

  // After run: for each fetch [num_replicas, ...] of the last step or, with Keep::every_step,
  // [steps, num_replicas, ...]. The memory is used again by the next run unless the caller keeps a
  // copy of the Tensor.
  std::span<const Tensor> results() const;

  // Of the last run, in the order of the program; empty unless options().profile, and on backends
  // that take no times.
  std::span<const runtime::StepProfile> profile() const;

  const StepLoopOptions& options() const;
  // Of all replicas together.
  const runtime::ExecutableStats& stats() const;
  double compile_seconds() const;
  // Variables whose updates differ between replicas and are no sums: averaged, or replica 0's.
  std::span<const std::string> averaged_variables() const;
  // The program after the backend's passes, as text.
  std::string optimized_program() const;

 private:
  struct Impl;
  struct Frame;
  std::unique_ptr<Impl> impl_;
};

// Ends before its loop; one thread uses a loop and its launches at a time.
class [[nodiscard]] StepLoop::Launch {
 public:
  Launch(Launch&&) noexcept;
  ~Launch();  // waits for the end
  bool ready() const;
  // As StepLoop::results(); valid as long as the Launch. Waits. Errors: the launch's.
  std::span<const Tensor> results();

 private:
  friend class StepLoop;
  Launch(Impl& loop, std::unique_ptr<Frame> frame);
  Impl* loop_;
  std::unique_ptr<Frame> frame_;
};

}  // namespace systole
