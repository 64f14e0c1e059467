// A folder of a test's own.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "systole/base/error.h"

namespace systole::testing {

// A new, empty folder under $TMPDIR (/tmp), removed with all that is in it at the end. Tests run
// side by side, each in a process of its own, so that a name that two of them know would be two
// tests' folder.
class TempFolder {
 public:
  TempFolder() : path_((std::filesystem::temp_directory_path() / "systole_test_XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) {
      throw failed_precondition("TempFolder: {} cannot be made", path_);
    }
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }
  // The path of what is called `name` in it.
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

}  // namespace systole::testing
