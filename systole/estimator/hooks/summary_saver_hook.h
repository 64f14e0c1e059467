// Summaries of a loop, written to a folder of the user's. (tf.train.SummarySaverHook)
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "systole/estimator/hooks/hooks.h"
#include "systole/train/summary.h"

namespace systole {

class FileSystem;

// Writes the summaries of the model's graph every so many steps or seconds, the first loop's too:
// the values of the loop's last step on replica 0. Training writes its summaries without one; this
// is for evaluations, predictions and other folders. As an evaluation has one global step, it
// writes the summaries of its first loop.
class SummarySaverHook : public SessionRunHook {
 public:
  struct Options {
    std::optional<int64_t> save_steps = std::nullopt;
    std::optional<double> save_secs = std::nullopt;
    std::string output_dir = {};  // made when it is not there
    // Which summaries: those that were made for this collection (summary::Options).
    std::string collection = std::string(graph_keys::summaries);
    FileSystem* file_system = nullptr;  // null: default_file_system(); outlives the hook
  };
  // Errors: INVALID_ARGUMENT unless one of save_steps and save_secs is given, and
  // output_dir.
  explicit SummarySaverHook(Options options);
  ~SummarySaverHook() override;
  void begin() override;
  std::vector<Output> fetches() override;
  void after_run(RunContext& context, std::span<const Tensor> values) override;
  void end(Session& session) override;

 protected:
  // The file, begun by the first call.
  EventWriter& events();
  // Called once for a file that was just begun.
  virtual void begin_file(EventWriter& events) { static_cast<void>(events); }
  // What is written, known from begin() on.
  std::vector<summary::Record> records_;

 private:
  Options options_;
  LoopTimer timer_;
  std::unique_ptr<EventWriter> events_;
};

}  // namespace systole
