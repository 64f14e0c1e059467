// Where the time of a step goes, as a trace for chrome://tracing. (tf.train.ProfilerHook)
#pragma once

#include <optional>
#include <string>

#include "systole/base/file_system.h"
#include "systole/estimator/hooks/hooks.h"

namespace systole {

// Writes timeline-N.json, N the global step, every so many steps or seconds, the first loop's too:
// the operations of the loop that was just run, one behind the other in the order of the program,
// each as long as all its runs took together, under the wall time of the loop. A loop that is
// profiled runs a program of its own, compiled at its first time: it takes the time of each
// operation and gives the same numbers.
class ProfilerHook : public SessionRunHook {
 public:
  struct Options {
    std::optional<int64_t> save_steps = std::nullopt;
    std::optional<double> save_secs = std::nullopt;
    std::string output_dir = {};        // made when it is not there
    FileSystem* file_system = nullptr;  // null: default_file_system(); outlives the hook
  };
  // Errors: INVALID_ARGUMENT unless one of save_steps and save_secs is given.
  explicit ProfilerHook(Options options);
  void before_run(RunContext& context) override;
  void after_run(RunContext& context, std::span<const Tensor> values) override;

 private:
  Options options_;
  LoopTimer timer_;
  bool requested_ = false;
};

// The trace: a JSON object in Chrome's trace event format, times in microseconds.
std::string chrome_trace(std::span<const runtime::StepProfile> steps, int64_t global_step,
                         double seconds);

}  // namespace systole
