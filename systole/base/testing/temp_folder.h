// A temporary folder for a test.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "systole/base/error.h"

namespace systole::testing {

// A new, empty folder under $TMPDIR (/tmp); removed with its contents at the end. Tests run in
// parallel processes, so fixed names would collide.
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
  // Returns the path of `name` in it.
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

}  // namespace systole::testing
