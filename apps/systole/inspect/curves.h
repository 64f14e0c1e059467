// Curves of the event files of a training run.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "systole/base/file_system.h"

namespace systole::app {

// Scalars of one tag by step. If a resumed run wrote a step twice, the later value counts.
struct Curve {
  std::string run;  // "train", "eval", a path below the folder
  std::string tag;
  std::map<int64_t, float> points;
};

bool is_event_file_name(const std::string& name);
// The event files directly in a folder, oldest first; for a file, the file itself.
std::vector<std::string> event_files(FileSystem& file_system, const std::string& path);

// The curves of an event file, of a CSV file of Keras's CSVLogger, or of a folder and its
// subfolders: the loss, then metrics of
// evaluations, then the others. Ignores an incomplete record at the end of a file. Errors:
// NOT_FOUND without event files, FAILED_PRECONDITION without scalars.
std::vector<Curve> read_curves(FileSystem& file_system, const std::string& path);

}  // namespace systole::app
