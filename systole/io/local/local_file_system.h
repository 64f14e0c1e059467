// The local file system (POSIX).
#pragma once

#include <optional>
#include <string>

#include "systole/base/file_system.h"

namespace systole {

// The one instance. It lives until the process ends. It takes plain paths and "file:///a"; a host
// ("file://host/a") is INVALID_ARGUMENT. rename() and make_directories() also sync the directory
// above, so that the new name survives a power failure. Code that takes paths from a user asks
// file_system_for(path) instead.
// Opens files with open_file() (base/open_file.h): pipes, devices other than /dev/null, and sockets
// are FAILED_PRECONDITION, also as the target of rename(). open() follows links, create() does not;
// rename() replaces a link, not what it points to.
FileSystem& local_file_system();

// The same for files that nobody else may write, such as code to run. Makes files of mode 0600 and
// directories of mode 0700. PERMISSION_DENIED for a file that belongs to neither this user nor
// root, or that others can write; FAILED_PRECONDITION for a link and for a file with several names.
FileSystem& private_file_system();

// Returns the path as system calls take it: "/a" for "/a" and "file:///a". Returns nullopt for a
// path of another file system.
std::optional<std::string> local_path(const std::string& path);

}  // namespace systole
