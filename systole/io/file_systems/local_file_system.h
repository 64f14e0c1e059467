// The local file system (POSIX).
#pragma once

#include <optional>
#include <string>

#include "systole/base/file_system.h"

namespace systole {

// The one instance. It lives until the process ends. It takes plain paths and "file:///a"; a host
// ("file://host/a") is INVALID_ARGUMENT. rename() also syncs the directory, so that the new name
// survives a power failure. Code that takes paths from a user asks file_system_for(path) instead.
FileSystem& local_file_system();

// Returns the path as system calls take it: "/a" for "/a" and "file:///a". Returns nullopt for a
// path of another file system.
std::optional<std::string> local_path(const std::string& path);

}  // namespace systole
