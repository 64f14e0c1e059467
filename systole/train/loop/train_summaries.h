// The summaries of a training: those of the graph, the loss, learning rates and speed.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "systole/io/events/event_writer.h"
#include "systole/train/loop/summary_saver_hook.h"

namespace systole::train {

// Writes all summaries of the graph, "loss" if it is valid, and "learning_rate" for learning rates
// that are tensors, to an event file that starts with the graph, alone and as a MetaGraphDef with
// the variables. The graph also becomes the folder's graph.pbtxt. Values are computed with the step
// and written after its loop. The first loop is always written.
class TrainSummariesHook : public SummarySaverHook {
 public:
  TrainSummariesHook(Options options, Output loss)
      : SummarySaverHook(std::move(options)), loss_(loss) {}
  void begin() override;

  // Adds a scalar computed on the host: "global_step/sec".
  void add_scalar(std::string_view tag, int64_t step, double value);
  void note_checkpoint(int64_t step, const std::string& path);

 protected:
  void begin_file(EventWriter& events) override;

 private:
  Output loss_;
  const Graph* graph_ = nullptr;
};

// Writes the scalars of an evaluation to `folder`, and the checkpoint that was evaluated under the
// tag "checkpoint_path" unless it is empty. Errors: those of the file system.
void write_evaluation(const std::string& folder, int64_t global_step,
                      const std::map<std::string, Tensor, std::less<>>& values,
                      const std::string& checkpoint_path);

}  // namespace systole::train
