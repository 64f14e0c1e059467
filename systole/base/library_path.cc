#include "systole/base/library_path.h"

#include <filesystem>

namespace systole {

std::string own_library_path(std::string_view file_name) {
  std::error_code ignored;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  return (program.parent_path().parent_path() / "lib" / file_name).string();
}

}  // namespace systole
