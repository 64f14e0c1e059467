// The file system of this machine (POSIX).
#pragma once

#include "systole/base/file_system.h"

namespace systole {

// The one instance. It lives until the process ends. rename() also syncs the directory, so that the
// new name survives a power failure.
FileSystem& local_file_system();

}  // namespace systole
