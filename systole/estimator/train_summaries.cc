#include "systole/estimator/train_summaries.h"

#include <algorithm>

#include "systole/base/log.h"
#include "systole/io/local_file_system.h"
#include "systole/session/graph_def.h"
#include "systole/train/optimizer.h"

namespace systole::estimator {

SummarySaverHook::SummarySaverHook(Options options)
    : options_(std::move(options)), timer_({.every_steps = options_.save_steps}) {}

void SummarySaverHook::begin() {
  const Graph& graph = Graph::current();
  graph_ = &graph;
  records_ = summary::collected(graph);
  const auto has = [&](std::string_view tag) {
    return std::ranges::find(records_, tag, &summary::Record::tag) != records_.end();
  };
  const std::vector<Output> rates = graph.collection<Output>(kLearningRates);
  for (size_t i = 0; i < rates.size(); ++i) {
    const std::string tag = i == 0 ? "learning_rate" : fmt::format("learning_rate_{}", i);
    if (!has(tag)) records_.push_back({.tag = tag, .value = rates[i]});
  }
}

std::vector<Output> SummarySaverHook::fetches() {
  std::vector<Output> outputs = {options_.loss};
  for (const summary::Record& record : records_) outputs.push_back(record.value);
  return outputs;
}

EventWriter& SummarySaverHook::events() {
  if (!events_) {
    events_ = std::make_unique<EventWriter>(local_file_system(), options_.folder);
    // Readers of events take no message larger than this.
    constexpr size_t kMostBytes = size_t{1} << 30;
    const std::string graph = graph_ != nullptr ? graph_def_bytes(*graph_) : "";
    if (!graph.empty() && graph.size() <= kMostBytes) events_->add_graph(graph);
  }
  return *events_;
}

void SummarySaverHook::after_run(RunContext& context, std::span<const Tensor> values) {
  const int64_t step = context.global_step();
  if (!timer_.should_trigger(step)) return;
  timer_.triggered(step);
  events().add_scalar("loss", step, values[0].as_double(0));
  if (!records_.empty()) SummaryWriter(events()).add(records_, values.subspan(1), step);
  events().flush();
}

void SummarySaverHook::end(Session&) {
  if (events_) events_->flush();  // the last checkpoint is noted after this
}

void SummarySaverHook::add_scalar(std::string_view tag, int64_t step, double value) {
  events().add_scalar(tag, step, value);
}

void SummarySaverHook::note_checkpoint(int64_t step, const std::string& path) {
  events().add_session_log(SessionStatus::checkpoint, step, path);
  events().flush();
}

void write_evaluation(const std::string& folder, int64_t global_step,
                      const std::map<std::string, Tensor, std::less<>>& values) {
  EventWriter events(local_file_system(), folder);
  for (const auto& [name, value] : values) {
    if (name == "global_step") continue;
    if (value.num_elements() == 1 && is_numeric(value.dtype())) {
      events.add_scalar(name, global_step, value.as_double(0));
    } else {
      log_info("Skipping summary for {}, must be a scalar.", name);
    }
  }
  events.close();
}

}  // namespace systole::estimator
