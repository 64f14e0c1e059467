#include "systole/profile/writer.h"

#include <fmt/chrono.h>

#include <chrono>
#include <ctime>
#include <deque>
#include <vector>

#include "systole/base/environment.h"
#include "systole/base/error.h"
#include "systole/base/log.h"
#include "systole/io/events/event_writer.h"
#include "systole/io/file_systems/file_systems.h"
#include "systole/io/wire/compression.h"
#include "systole/profile/pages.h"
#include "systole/profile/trace_json.h"
#include "systole/profile/xplane.h"
#include "systole/tracing/recorder.h"

namespace systole::profile {
namespace {

// Returns a folder that does not exist: two profiles of one second have different ones.
std::string new_folder(FileSystem& files, const std::string& logdir, int64_t unix_ns) {
  const auto seconds = static_cast<std::time_t>(unix_ns / 1'000'000'000);
  const std::string base =
      join_path(logdir, fmt::format("plugins/profile/{:%Y_%m_%d_%H_%M_%S}", fmt::gmtime(seconds)));
  std::string folder = base;
  for (int i = 1; files.exists(folder); ++i) folder = fmt::format("{}_{}", base, i);
  return folder;
}

void write_trace(FileSystem& files, const std::string& path, const tracing::Recording& recording) {
  write_file_atomically(files, path, [&](WritableFile& file) {
    const auto packed = compress_into(file, Compression::gzip, path, 4);
    write_trace_json(recording, [&](std::string_view text) { packed->append(text); });
    packed->close();
  });
}

// Writes the files of one host.
class HostFiles {
 public:
  HostFiles(FileSystem& files, const std::string& folder, const tracing::Recording& recording,
            const Analysis& analysis)
      : files_(files),
        prefix_(join_path(folder, recording.host.empty() ? host_name() : recording.host) + "."),
        recording_(recording),
        analysis_(analysis),
        host_(recording.host.empty() ? host_name() : recording.host) {}

  // All but the figures.
  void write_pages() const {
    write_file_atomically(files_, prefix_ + "xplane.pb",
                          xplane_bytes(recording_, analysis_, host_));
    write_trace(files_, prefix_ + "trace.json.gz", recording_);
    write("overview_page.json", overview_page(analysis_));
    write("input_pipeline.json", input_pipeline_page(analysis_));
    write("op_profile.json", op_profile_page(analysis_));
    write("memory_viewer.json", memory_page(recording_, analysis_));
    write("pod_viewer.json", pod_page(analysis_));
  }
  void write_figures() const { write("systole.json", analysis_page(recording_, analysis_)); }

 private:
  void write(const char* tool, const nlohmann::json& page) const {
    write_file_atomically(files_, prefix_ + tool, text_of(page));
  }

  FileSystem& files_;
  const std::string prefix_;
  const tracing::Recording& recording_;
  const Analysis& analysis_;
  const std::string host_;
};

Analysis analysis_of(const tracing::Recording& recording) {
  return analyse(recording, recording.peaks ? *recording.peaks : machine_peaks());
}

}  // namespace

WrittenProfile write_profile(tracing::Recording recording, const std::string& logdir,
                             FileSystem& files) {
  WrittenProfile result{.recording = std::move(recording)};
  const tracing::Recording& kept = result.recording;
  result.analysis = analysis_of(kept);
  files.make_directories(logdir);
  result.folder = new_folder(files, logdir, kept.start_unix_ns);
  files.make_directories(result.folder);
  std::deque<Analysis> of_workers;
  std::vector<HostFiles> hosts = {{files, result.folder, kept, result.analysis}};
  for (const tracing::WorkerRecording& worker : kept.workers) {
    if (!worker.problem.empty()) continue;
    const Analysis& analysis = of_workers.emplace_back(analysis_of(worker.recording));
    hosts.emplace_back(files, result.folder, worker.recording, analysis);
  }
  for (const HostFiles& host : hosts) host.write_pages();
  for (const HostFiles& host : hosts) host.write_figures();
  EventWriter events(files, logdir, ".profile-empty");
  events.close();
  return result;
}

std::string write_page(const nlohmann::json& page, const char* tool, const std::string& logdir,
                       FileSystem& files) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::string folder =
      new_folder(files, logdir, std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
  files.make_directories(folder);
  std::string path = join_path(folder, fmt::format("{}.{}.json", host_name(), tool));
  write_file_atomically(files, path, text_of(page));
  return path;
}

Capture::Capture(std::string logdir, FileSystem* file_system)
    : logdir_(std::move(logdir)),
      file_system_(file_system != nullptr ? *file_system : default_file_system()) {
  if (tracing::start()) return;
  recording_ = false;
  throw failed_precondition(
      "profile: capture into '{}', got another capture in progress, expected none", logdir_);
}

Capture::~Capture() {
  if (recording_) tracing::stop();
}

WrittenProfile Capture::finish() {
  recording_ = false;
  WrittenProfile written = write_profile(tracing::stop(), logdir_, file_system_);
  const std::string& problem = written.analysis.problem;
  if (problem.empty()) {
    log_info("profile: {} steps in {:.2f} s, in {}", written.analysis.steps.size(),
             written.analysis.seconds, written.folder);
  } else {
    log_warning("profile: {}: {}", written.folder, problem);
  }
  return written;
}

}  // namespace systole::profile
