// Shared libraries that belong to the running program.
#pragma once

#include <string>
#include <string_view>

namespace systole {

// Returns the path of a shared library in the lib/ beside the program's own folder, where build and
// install trees have it. Does not check that the file exists.
std::string own_library_path(std::string_view file_name);

}  // namespace systole
