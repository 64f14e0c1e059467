#include "systole/train/loop/profiler_hook.h"

#include "systole/base/log.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/profile/trace_json.h"
#include "systole/tracing/recorder.h"

namespace systole {

ProfilerHook::ProfilerHook(Options options)
    : options_(std::move(options)),
      timer_(LoopTimer::one_of("exactly one of save_steps and save_secs must be provided.",
                               options_.save_steps, options_.save_secs)) {}

ProfilerHook::~ProfilerHook() {
  if (recording_) tracing::stop();
}

void ProfilerHook::before_run(RunContext& context) {
  if (recording_ || !timer_.should_trigger(context.global_step())) return;
  recording_ = tracing::start();
  if (!recording_)
    log_warning("ProfilerHook: no trace of this loop, as another capture is in progress");
}

void ProfilerHook::after_run(RunContext& context, std::span<const Tensor>) {
  if (!std::exchange(recording_, false)) return;
  const tracing::Recording recording = tracing::stop();
  timer_.triggered(context.global_step());
  FileSystem& files = file_system_or_default(options_.file_system);
  if (!options_.output_dir.empty()) files.make_directories(options_.output_dir);
  const std::string path =
      join_path(options_.output_dir, fmt::format("timeline-{}.json", context.global_step()));
  log_info("Saving timeline for {} into '{}'.", context.global_step(), path);
  write_file_atomically(files, path, [&](WritableFile& file) {
    profile::write_trace_json(recording, [&](std::string_view text) { file.append(text); },
                              {.dataflow = options_.show_dataflow, .memory = options_.show_memory});
  });
}

}  // namespace systole
