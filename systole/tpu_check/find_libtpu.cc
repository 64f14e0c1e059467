#include "systole/tpu_check/find_libtpu.h"

#include <filesystem>
#include <string_view>
#include <vector>

#include "systole/base/environment.h"
#include "systole/base/error.h"

namespace systole::tpu_check {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLibrary = "libtpu.so";

// The version with which figures in docs/prediction.md were measured.
constexpr std::string_view kTriedVersion = "0.0.42.1";

// "libtpu-0.0.42.1.dist-info" beside the package's folder.
std::string version_of(const fs::path& library) {
  constexpr std::string_view kPrefix = "libtpu-";
  constexpr std::string_view kEnding = ".dist-info";
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(library.parent_path().parent_path(), failed)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix) || !name.ends_with(kEnding)) continue;
    return name.substr(kPrefix.size(), name.size() - kPrefix.size() - kEnding.size());
  }
  return "";
}

LibTpu at(const std::string& path, std::string_view who) {
  std::error_code failed;
  fs::path library = path;
  if (fs::is_directory(library, failed)) library /= kLibrary;
  if (!fs::exists(library, failed)) {
    throw not_found("{}: '{}', no such file; expected libtpu.so, which `{}` installs", who, path,
                    libtpu_install_command());
  }
  // dlopen() looks a bare name up elsewhere.
  if (!library.has_parent_path()) library = fs::path(".") / library;
  return {.path = library.string(), .version = version_of(library)};
}

// Returns the libtpu of a Python environment; "" if it has none.
std::string in_environment(const std::string& environment) {
  std::error_code failed;
  for (const auto& python : fs::directory_iterator(fs::path(environment) / "lib", failed)) {
    if (!python.path().filename().string().starts_with("python")) continue;
    const fs::path library = python.path() / "site-packages" / "libtpu" / kLibrary;
    if (fs::exists(library, failed)) return library.string();
  }
  return "";
}

}  // namespace

std::string libtpu_install_command() { return "pip install libtpu==" + std::string(kTriedVersion); }

LibTpu find_libtpu(const std::string& given) {
  if (!given.empty()) return at(given, "--tpu-library");
  const std::string variable = environment_value("TPU_LIBRARY_PATH");
  if (!variable.empty()) return at(variable, "TPU_LIBRARY_PATH");
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const std::string environment = environment_value(name);
    if (environment.empty()) continue;
    const std::string library = in_environment(environment);
    if (!library.empty()) return at(library, name);
  }
  throw not_found(
      "libtpu: Google's compiler for TPUs, got none, expected --tpu-library FILE, "
      "TPU_LIBRARY_PATH, or one in the active virtual environment. It needs no TPU. This installs "
      "it, under Google's terms (a package of 200 MB or more):\n    {}",
      libtpu_install_command());
}

}  // namespace systole::tpu_check
