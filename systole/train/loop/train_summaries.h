// The summaries of a training: those of the graph, the loss, learning rates and speed.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "systole/io/events/event_writer.h"
#include "systole/train/loop/summary_saver_hook.h"

namespace systole::train {

// Writes an event file: first the graph, as a GraphDef and as a MetaGraphDef with the variables,
// then all summaries of the graph, "loss" if it is valid, and "learning_rate" for learning rates
// that are tensors. Also writes the graph to the folder's graph.pbtxt. Values are computed in the
// training step and written when its loop has ended. The first loop is always written.
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
