// The folder in which processes of one user keep compiled code: where it is, how large it may
// become, which of its files are cache entries.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "systole/base/file_system.h"

namespace systole {

// $SYSTOLE_CACHE_DIR where it is set, else $XDG_CACHE_HOME/systole, else $HOME/.cache/systole. ""
// means no cache: SYSTOLE_CACHE_DIR is set and empty, or none of the three is set to an absolute
// path.
std::string default_cache_folder();

// The size in bytes above which entries are evicted: $SYSTOLE_CACHE_MB megabytes, 1024 by default.
// A value that is not a positive integer is ignored with a warning.
int64_t cache_size_limit();

// Creates `folder` with mode 0700, its missing parents too, where it does not exist. Returns "" if
// the folder is private: owned by this user, writable by nobody else. Otherwise returns the reason,
// "owned by user 0, expected 1000". Code from a folder that is not private must not be run. Errors:
// those of the file system, naming the folder.
std::string make_private_folder(const std::string& folder);

// The file name of an entry. `key` has 64 lowercase hexadecimal digits.
std::string cache_entry_name(std::string_view key);

struct CacheEntry {
  std::string path;
  int64_t bytes = 0;
  int64_t used_ns = 0;  // last use, since the Unix epoch
};
// The entries of a folder, the least recently used first, including temporary files of entries that
// a killed process left unfinished. Other files are not listed. Errors: those of the file system.
std::vector<CacheEntry> cache_entries(FileSystem& file_system, const std::string& folder);

}  // namespace systole
