#include "systole/train/loop/train_summaries.h"

#include <algorithm>

#include "systole/base/log.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/session/graph_def/graph_def.h"
#include "systole/train/meta_graph.h"
#include "systole/train/optimizer.h"

namespace systole::train {

void TrainSummariesHook::begin() {
  SummarySaverHook::begin();
  const Graph& graph = Graph::current();
  graph_ = &graph;
  const auto has = [&](std::string_view tag) {
    return std::ranges::find(records_, tag, &summary::Record::tag) != records_.end();
  };
  const std::vector<Output> rates = graph.collection<Output>(kLearningRates);
  for (size_t i = 0; i < rates.size(); ++i) {
    const std::string tag = i == 0 ? "learning_rate" : fmt::format("learning_rate_{}", i);
    if (!has(tag)) records_.push_back({.tag = tag, .value = rates[i]});
  }
  if (loss_.valid() && !has("loss"))
    records_.insert(records_.begin(), {.tag = "loss", .value = loss_});
}

void TrainSummariesHook::begin_file(EventWriter& events) {
  // Readers of event files limit the size of a message.
  constexpr size_t kMaxBytes = size_t{1} << 30;
  if (graph_ == nullptr) return;
  const std::string graph = graph_def_bytes(*graph_);
  if (graph.size() > kMaxBytes) return;
  events.add_graph(graph);
  const std::string meta_graph =
      meta_graph_bytes(*graph_, graph_->collection<Variable>(graph_keys::global_variables));
  if (meta_graph.size() <= kMaxBytes) events.add_meta_graph(meta_graph);
  write_graph_def(*graph_, join_path(parent_path(events.path()), "graph.pbtxt"));
}

void TrainSummariesHook::add_scalar(std::string_view tag, int64_t step, double value) {
  events().add_scalar(tag, step, value);
}

void TrainSummariesHook::note_checkpoint(int64_t step, const std::string& path) {
  events().add_session_log(SessionStatus::checkpoint, step, path);
  events().flush();
}

void write_evaluation(const std::string& folder, int64_t global_step,
                      const std::map<std::string, Tensor, std::less<>>& values,
                      const std::string& checkpoint_path) {
  EventWriter events(default_file_system(), folder);
  if (!checkpoint_path.empty()) {
    events.add_text("checkpoint_path", global_step, Tensor(checkpoint_path.c_str()));
  }
  for (const auto& [name, value] : values) {
    if (name == "global_step") continue;
    if (value.num_elements() == 1 && is_numeric(value.dtype())) {
      events.add_scalar(name, global_step, value.as_double(0));
    } else {
      events.add_tensor(name, global_step, value);
    }
  }
  events.close();
}

}  // namespace systole::train
