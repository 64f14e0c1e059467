// Writes profiles in TensorBoard's layout.
//
//   <logdir>/plugins/profile/<YYYY_MM_DD_hh_mm_ss>/
//     <host>.xplane.pb             XProf, TensorBoard's profile plugin
//     <host>.trace.json.gz         Perfetto, chrome://tracing
//     <host>.overview_page.json, .input_pipeline.json, .op_profile.json, .memory_viewer.json,
//     .pod_viewer.json             the pages of the Cloud TPU profile plugin
//     <host>.prediction.json, .tpu_v1.json    pages of write_page()
//     <host>.systole.json          all figures, for `systole profile report`; written last, this
//                                  machine's before those of workers
//   <logdir>/events.out.tfevents.<seconds>.<host>.profile-empty    makes TensorBoard look here
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "systole/base/file_system.h"
#include "systole/profile/analysis.h"

namespace systole::profile {

struct WrittenProfile {
  std::string folder;  // <logdir>/plugins/profile/<run>
  Analysis analysis;
  tracing::Recording recording;
};

// Analyses and writes the recording, and those of its workers as hosts of their own; systole.json
// comes last. Errors: those of the file system.
WrittenProfile write_profile(tracing::Recording recording, const std::string& logdir,
                             FileSystem& file_system);

// Writes one page that no recording made, such as a prediction: <host>.<tool>.json in a new folder
// of `logdir` as above. Returns the path. Errors: those of the file system.
std::string write_page(const nlohmann::json& page, const char* tool, const std::string& logdir,
                       FileSystem& file_system);

// A recording that writes its profile. At most one at a time in a process.
class Capture {
 public:
  // Errors: FAILED_PRECONDITION if a recording is in progress.
  explicit Capture(std::string logdir, FileSystem* file_system = nullptr);
  // Ends a recording that finish() did not end. Writes nothing.
  ~Capture();
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  // Ends the recording and writes it. Logs where, and why if there is nothing to see. Called once.
  // Errors: those of write_profile().
  WrittenProfile finish();

 private:
  std::string logdir_;
  FileSystem& file_system_;
  bool recording_ = true;
};

}  // namespace systole::profile
