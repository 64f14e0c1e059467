// The files of a log directory, and no others.
#pragma once

#include <memory>
#include <string>

#include "systole/base/file_system.h"

namespace systole::board {

// Returns a view of the local directory `root` that reads only what is inside of it: each call
// resolves links anew, so that a link that was replaced cannot lead out. Opens regular files only,
// and never waits for a pipe or a device. Thread-safe. Errors: those of the file;
// PERMISSION_DENIED for a path that leads out of `root` and for every change of a file;
// FAILED_PRECONDITION for a pipe, a socket or a device.
std::unique_ptr<FileSystem> files_inside(std::string root);

}  // namespace systole::board
