#include "systole/train/loop/summary_saver_hook.h"

#include "systole/io/events/event_writer.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/tracing/span.h"

namespace systole {

SummarySaverHook::SummarySaverHook(Options options)
    : options_(std::move(options)),
      timer_(LoopTimer::one_of("exactly one of save_steps and save_secs must be provided.",
                               options_.save_steps, options_.save_secs)) {
  if (options_.output_dir.empty()) {
    throw invalid_argument("SummarySaverHook: output_dir, got none, expected a folder");
  }
}

SummarySaverHook::~SummarySaverHook() = default;

void SummarySaverHook::begin() {
  records_ = summary::collected(Graph::current(), options_.collection);
}

std::vector<Output> SummarySaverHook::fetches() {
  std::vector<Output> outputs;
  outputs.reserve(records_.size());
  for (const summary::Record& record : records_) outputs.push_back(record.value);
  return outputs;
}

EventWriter& SummarySaverHook::events() {
  if (!events_) {
    events_ = std::make_unique<EventWriter>(file_system_or_default(options_.file_system),
                                            options_.output_dir);
    begin_file(*events_);
  }
  return *events_;
}

void SummarySaverHook::after_run(RunContext& context, std::span<const Tensor> values) {
  const int64_t step = context.global_step();
  if (records_.empty() || !timer_.should_trigger(step)) return;
  timer_.triggered(step);
  const tracing::Span span("write summaries", tracing::Kind::summary);
  SummaryWriter(events()).add(records_, values, step);
  events().flush();
}

void SummarySaverHook::end(Session&) {
  if (events_) events_->flush();  // others may write to it after this
}

}  // namespace systole
