// Traces of loops, for chrome://tracing and Perfetto. (tf.train.ProfilerHook)
#pragma once

#include <optional>
#include <string>

#include "systole/base/file_system.h"
#include "systole/train/loop/hooks.h"

namespace systole {

// Writes timeline-N.json, where N is the global step, for the first loop and then at the given
// steps or seconds: what each thread did in the loop, and the steps and ops of the device. A loop
// that falls into another capture is left out, with a warning. docs/profiling.md.
class ProfilerHook : public SessionRunHook {
 public:
  struct Options {
    std::optional<int64_t> save_steps = std::nullopt;
    std::optional<double> save_secs = std::nullopt;
    std::string output_dir = {};        // created if missing
    bool show_dataflow = true;          // arrows from launches to their steps
    bool show_memory = false;           // a row with the memory of the program that runs
    FileSystem* file_system = nullptr;  // null: this machine's; outlives the hook
  };
  // Errors: INVALID_ARGUMENT unless one of save_steps and save_secs is given.
  explicit ProfilerHook(Options options);
  ~ProfilerHook() override;
  int64_t steps_to_next_run(int64_t global_step) const override {
    return timer_.steps_to_trigger(global_step);
  }
  void before_run(RunContext& context) override;
  void after_run(RunContext& context, std::span<const Tensor> values) override;

 private:
  Options options_;
  LoopTimer timer_;
  bool recording_ = false;
};

}  // namespace systole
