// How far training, evaluation or prediction has come, for whoever watches.
#pragma once

#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "systole/base/progress.h"
#include "systole/train/loop/hooks.h"

namespace systole {

// Shows a bar with the time left, the loss of the last step and the speed on a terminal, and a line
// every five seconds and at the end elsewhere. (tf.keras.utils.Progbar)
class ProgressHook : public SessionRunHook {
 public:
  struct Options {
    std::string name = "train";
    // The global step that training goes to, or how many steps it takes.
    int64_t last_step = 0;
    std::optional<int64_t> steps = std::nullopt;
    // For evaluate() and predict(): counts batches, `steps` of them where that is known.
    bool counts_batches = false;
    std::FILE* out = stderr;
    // Absent: whether `out` is one.
    std::optional<bool> terminal = std::nullopt;
    Clock* clock = nullptr;  // the machine's when null
  };
  explicit ProgressHook(Options options);
  // Ends the line of a bar that nothing else has ended: what is written next may be an error.
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
