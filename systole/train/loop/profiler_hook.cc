#include "systole/train/loop/profiler_hook.h"

#include <nlohmann/json.hpp>

#include "systole/base/log.h"
#include "systole/io/file_systems/file_systems.h"

namespace systole {
namespace {

constexpr double kMicroseconds = 1e6;

// Names a row of the trace.
nlohmann::json row_name(int row, const std::string& name) {
  return {
      {"name", "thread_name"}, {"ph", "M"}, {"pid", 0}, {"tid", row}, {"args", {{"name", name}}}};
}

nlohmann::json event(const std::string& name, int row, double begin, double seconds,
                     nlohmann::json args) {
  return {{"name", name},
          {"cat", "Op"},
          {"ph", "X"},
          {"pid", 0},
          {"tid", row},
          {"ts", begin * kMicroseconds},
          {"dur", seconds * kMicroseconds},
          {"args", std::move(args)}};
}

}  // namespace

std::string chrome_trace(std::span<const runtime::StepProfile> steps, int64_t global_step,
                         double seconds) {
  nlohmann::json events = nlohmann::json::array();
  events.push_back(row_name(0, "loop"));
  events.push_back(row_name(1, "operations"));
  events.push_back(
      event(fmt::format("loop to step {}", global_step), 0, 0, seconds, nlohmann::json::object()));
  double begin = 0;
  for (const runtime::StepProfile& step : steps) {
    const double rate = step.seconds > 0 ? 1e-9 / step.seconds : 0;
    events.push_back(event(step.step, 1, begin, step.seconds,
                           {{"runs", step.runs},
                            {"GFLOP/s", step.flops * rate},
                            {"GB/s", step.bytes * rate},
                            {"by reference", step.by_reference}}));
    begin += step.seconds;
  }
  const nlohmann::json trace = {{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}};
  // Names from a user's program may have any encoding.
  return trace.dump(1, ' ', false, nlohmann::json::error_handler_t::replace);
}

ProfilerHook::ProfilerHook(Options options)
    : options_(std::move(options)),
      timer_({.every_steps = options_.save_steps, .every_secs = options_.save_secs}) {
  if (options_.save_steps.has_value() == options_.save_secs.has_value()) {
    throw invalid_argument("exactly one of save_steps and save_secs must be provided.");
  }
}

void ProfilerHook::before_run(RunContext& context) {
  requested_ = timer_.should_trigger(context.global_step());
  if (requested_) context.request_profile();
}

void ProfilerHook::after_run(RunContext& context, std::span<const Tensor>) {
  if (!std::exchange(requested_, false)) return;
  timer_.triggered(context.global_step());
  FileSystem& files = file_system_or_default(options_.file_system);
  if (!options_.output_dir.empty()) files.make_directories(options_.output_dir);
  const std::string path =
      join_path(options_.output_dir, fmt::format("timeline-{}.json", context.global_step()));
  log_info("Saving timeline for {} into '{}'.", context.global_step(), path);
  write_file_atomically(files, path,
                        chrome_trace(context.profile(), context.global_step(), context.seconds()));
}

}  // namespace systole
