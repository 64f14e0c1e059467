// Names of files by patterns.
#pragma once

#include <string>
#include <vector>

#include "systole/base/file_system.h"

namespace systole {

// The files, no folders, whose path matches `pattern`, in which stand
//   '*' for any characters but '/', '?' for one of them, '[a-z]' for one of a set,
//   '[!a-z]' for one outside of it
// Hidden files match what begins with a dot alone. Names of one folder are sorted.
std::vector<std::string> files_matching(FileSystem& file_system, const std::string& pattern);

}  // namespace systole
