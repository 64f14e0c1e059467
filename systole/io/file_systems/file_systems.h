// File systems by the scheme of a path: "mem" in "mem://run/model.ckpt-7".
//   none, file    the local disk (local/)
//   gs            Google Cloud Storage (buckets/)
//   s3            Amazon S3 and servers that speak its protocol (buckets/)
//   mem           the memory of this process (memory_file_system.h), for tests
#pragma once

#include <string>
#include <string_view>

#include "systole/base/file_system.h"

namespace systole {

// Returns the file system of a path. Thread-safe. Errors: UNIMPLEMENTED for an unknown scheme, with
// the known ones.
FileSystem& file_system_for(std::string_view path);

// A file system that passes each call on to file_system_for(path). What takes paths from a user
// works on it. rename() refuses two paths of different file systems with FAILED_PRECONDITION.
FileSystem& default_file_system();

// Returns `given`, or default_file_system() for null: the meaning of `file_system` in options.
inline FileSystem& file_system_or_default(FileSystem* given) {
  return given != nullptr ? *given : default_file_system();
}

// Makes `file_system` the one of paths that start with "<scheme>://". It must live until the
// process ends. Thread-safe. Errors: INVALID_ARGUMENT for a text that is not a scheme;
// ALREADY_EXISTS for a known scheme.
void register_file_system(const std::string& scheme, FileSystem& file_system);

}  // namespace systole
