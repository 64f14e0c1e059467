// A progress bar for training, evaluation and prediction.
#pragma once

#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "systole/base/progress.h"
#include "systole/train/loop/hooks.h"

namespace systole {

// Shows the time left, the loss of the last step and the speed: a bar on a terminal, otherwise a
// line every five seconds and at the end. (tf.keras.utils.Progbar)
class ProgressHook : public SessionRunHook {
 public:
  struct Options {
    std::string name = "train";
    // The global step at which training ends, or its number of steps.
    int64_t last_step = 0;
    std::optional<int64_t> steps = std::nullopt;
    // For evaluation and prediction: counts batches, out of `steps` if known.
    bool counts_batches = false;
    std::FILE* out = stderr;
    // Whether `out` is a terminal. Absent: asks the system.
    std::optional<bool> terminal = std::nullopt;
    Clock* clock = nullptr;  // null: the machine's
  };
  explicit ProgressHook(Options options);
  // Ends the line of an unfinished bar.
  ~ProgressHook() override;
  ProgressHook(const ProgressHook&) = delete;
  ProgressHook& operator=(const ProgressHook&) = delete;

  void begin() override;
  std::vector<Output> fetches() override;
  int64_t steps_to_next_run(int64_t) const override { return INT64_MAX; }
  void before_run(RunContext& context) override;
  void after_run(RunContext& context, std::span<const Tensor> values) override;
  void end(Session& session) override;

 private:
  Options options_;
  Output loss_;
  std::optional<Progress> progress_;
};

}  // namespace systole
