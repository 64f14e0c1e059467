// The time of each operation of a step, as a trace for chrome://tracing. (tf.train.ProfilerHook)
#pragma once

#include <optional>
#include <string>

#include "systole/base/file_system.h"
#include "systole/train/loop/hooks.h"

namespace systole {

// Writes timeline-N.json, where N is the global step, for the first loop and then at the given
// steps or seconds. The trace has the wall time of the loop, and below it each operation, in
// program order, with the total time of its runs. The first profiled loop compiles a second
// program, which measures each operation and computes the same results.
class ProfilerHook : public SessionRunHook {
 public:
  struct Options {
    std::optional<int64_t> save_steps = std::nullopt;
    std::optional<double> save_secs = std::nullopt;
    std::string output_dir = {};        // created if missing
    FileSystem* file_system = nullptr;  // null: this machine's; outlives the hook
  };
  // Errors: INVALID_ARGUMENT unless one of save_steps and save_secs is given.
  explicit ProfilerHook(Options options);
  int64_t steps_to_next_run(int64_t global_step) const override {
    return timer_.steps_to_trigger(global_step);
  }
  void before_run(RunContext& context) override;
  void after_run(RunContext& context, std::span<const Tensor> values) override;

 private:
  Options options_;
  LoopTimer timer_;
  bool requested_ = false;
};

// Returns a JSON object in Chrome's trace event format, with times in microseconds.
std::string chrome_trace(std::span<const runtime::StepProfile> steps, int64_t global_step,
                         double seconds);

}  // namespace systole
