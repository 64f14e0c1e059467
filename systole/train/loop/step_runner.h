// Launches of several steps, for batches of any type.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "systole/data/feed/step_feed.h"
#include "systole/session/step_loop.h"

namespace systole::train {

// The StepLoops of one step, by the types of a replica's batch. Where all batches have one size
// there is one. Used by one thread.
class StepRunner {
 public:
  // The session outlives it. `options`: without the types of the inputs, which are those of each
  // batch. `mask`: the placeholder of the example mask, f32 [batch], which is the last input;
  // invalid for a step without one.
  StepRunner(Session& session, StepLoopOptions options, Output mask = {})
      : session_(session), options_(std::move(options)), mask_(std::move(mask)) {}

  // Starts to compile for batches of these types, on a thread of its own. run() waits for it.
  // Errors: those of a StepLoop.
  void prepare(const std::vector<TensorType>& types);
  // Runs the steps. Returns StepLoop::results().
  std::span<const Tensor> run(const data::StackedSteps& input);
  const StepLoopOptions& options() const { return options_; }

 private:
  std::unique_ptr<StepLoop> make_loop(const std::vector<TensorType>& types,
                                      bool compile_beside) const;

  Session& session_;
  const StepLoopOptions options_;
  const Output mask_;
  std::map<std::string, std::unique_ptr<StepLoop>> loops_;
};

// The limits of a launch, of all front ends: the host's work for a launch of this size does not
// count, and its memory is bounded. The steps hold where the user chose no number.
inline constexpr int64_t kMaxLaunchSteps = 100;
inline constexpr int64_t kMaxKeptSteps = 32;  // where the results of every step are kept
inline constexpr int64_t kMaxLaunchBytes = int64_t{64} << 20;  // of the input

// Returns how many steps one launch may take: `wanted`, or fewer so that the input of a launch,
// `step_bytes` a step, fits in kMaxLaunchBytes.
int64_t launch_steps(int64_t wanted, int64_t step_bytes);

}  // namespace systole::train
