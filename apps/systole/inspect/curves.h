// What a training run wrote for TensorBoard, as curves.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "systole/base/file_system.h"

namespace systole::app {

// Scalars of one tag by step. Where a run was taken up again, what it wrote last stands.
struct Curve {
  std::string run;  // "train", "eval", a path below the folder
  std::string tag;
  std::map<int64_t, float> points;
};

bool is_event_file_name(const std::string& name);
// The event files directly in a folder, the oldest first; a file is itself.
std::vector<std::string> event_files(FileSystem& file_system, const std::string& path);

// The curves of an event file, or of a folder and those below it: the loss first, then what
// evaluations measure, then the rest. The end of a file that is still being written is passed over.
// Errors: NOT_FOUND when there are no event files, FAILED_PRECONDITION when they hold no scalars.
std::vector<Curve> read_curves(FileSystem& file_system, const std::string& path);

}  // namespace systole::app
