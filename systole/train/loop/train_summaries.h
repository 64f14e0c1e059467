// The summaries of training: what the model asks for, the loss, and how fast it goes.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "systole/io/events/event_writer.h"
#include "systole/train/loop/summary_saver_hook.h"

namespace systole::train {

// Writes every summary of the graph, "loss" where one is given, and "learning_rate" where an
// optimizer's rate is a tensor, every so often to an event file in a folder, which begins with the
// graph. All are computed with the step and written when its loop is over, wherever in the model_fn
// they stand: no host_call is needed. The loop that begins training is written too.
class TrainSummariesHook : public SummarySaverHook {
 public:
  TrainSummariesHook(Options options, Output loss)
      : SummarySaverHook(std::move(options)), loss_(loss) {}
  void begin() override;

  // Scalars of the host: "global_step/sec".
  void add_scalar(std::string_view tag, int64_t step, double value);
  void note_checkpoint(int64_t step, const std::string& path);

 protected:
  void begin_file(EventWriter& events) override;

 private:
  Output loss_;
  const Graph* graph_ = nullptr;
};

// The scalars of an evaluation, as one event in `folder`.
void write_evaluation(const std::string& folder, int64_t global_step,
                      const std::map<std::string, Tensor, std::less<>>& values);

}  // namespace systole::train
