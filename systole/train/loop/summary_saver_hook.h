// Writes the summaries of a graph to a folder. (tf.train.SummarySaverHook)
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "systole/train/loop/hooks.h"
#include "systole/train/summary.h"

namespace systole {

class FileSystem;

// Writes the summaries of the graph after the first loop, and then every N steps or seconds: the
// values of the loop's last step on replica 0. A training writes its summaries without this hook;
// it is for evaluations, predictions and other folders. An evaluation has one global step: the hook
// writes the summaries of its first batch.
class SummarySaverHook : public SessionRunHook {
 public:
  struct Options {
    std::optional<int64_t> save_steps = std::nullopt;
    std::optional<double> save_secs = std::nullopt;
    std::string output_dir = {};  // created if missing
    // The collection of summaries to write (summary::Options).
    std::string collection = std::string(graph_keys::summaries);
    FileSystem* file_system = nullptr;  // null: default_file_system(); outlives the hook
  };
  // Errors: INVALID_ARGUMENT unless one of save_steps and save_secs is given, and
  // output_dir.
  explicit SummarySaverHook(Options options);
  ~SummarySaverHook() override;
  void begin() override;
  std::vector<Output> fetches() override;
  int64_t steps_to_next_run(int64_t global_step) const override {
    return timer_.steps_to_trigger(global_step);
  }
  void after_run(RunContext& context, std::span<const Tensor> values) override;
  void end(Session& session) override;

 protected:
  // Returns the event file; the first call creates it.
  EventWriter& events();
  // Called once, when the file was created.
  virtual void begin_file(EventWriter& events) { static_cast<void>(events); }
  // The summaries to write, set by begin().
  std::vector<summary::Record> records_;

 private:
  Options options_;
  LoopTimer timer_;
  std::unique_ptr<EventWriter> events_;
};

}  // namespace systole
