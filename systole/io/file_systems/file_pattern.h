// Patterns of file names.
#pragma once

#include <string>
#include <vector>

#include "systole/base/file_system.h"

namespace systole {

// Returns the files, without directories, whose path matches `pattern`. A pattern may contain
//   '*' for any characters but '/', '?' for one of them, '[a-z]' for one of a set,
//   '[!a-z]' for one that is not in the set
// Hidden files match only names that start with a dot. The names of one directory are sorted.
std::vector<std::string> files_matching(FileSystem& file_system, const std::string& pattern);

}  // namespace systole
