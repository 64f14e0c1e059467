#include "apps/systole/train/profile_process.h"

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string_view>
#include <thread>

#include "systole/base/error.h"

namespace systole::app {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Whether the process has a handler for SIGUSR2.
bool takes_captures(const fs::path& proc) {
  constexpr std::string_view kCaught = "\nSigCgt:";
  const std::string status = text_of(proc / "status");
  const size_t at = status.find(kCaught);
  if (at == std::string::npos) return false;
  const uint64_t caught = std::strtoull(status.c_str() + at + kCaught.size(), nullptr, 16);
  return (caught & (uint64_t{1} << (SIGUSR2 - 1))) != 0;
}

// The value of SYSTOLE_PROFILE in the process's environment.
std::string folder_in_environment(const fs::path& proc) {
  constexpr std::string_view kName = "SYSTOLE_PROFILE=";
  std::string_view rest;
  const std::string environment = text_of(proc / "environ");
  for (rest = environment; !rest.empty();) {
    const size_t end = std::min(rest.find('\0'), rest.size());
    if (rest.substr(0, end).starts_with(kName))
      return std::string(rest.substr(kName.size(), end - kName.size()));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return "";
}

// The model_dir that the process has locked (train/loop/model_dir_lock.h).
std::string locked_model_dir(const fs::path& proc) {
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(proc / "fd", failed)) {
    const fs::path target = fs::read_symlink(entry.path(), failed);
    if (!failed && target.filename() == ".systole.lock") return target.parent_path().string();
  }
  return "";
}

std::string logdir_of(const fs::path& proc) {
  std::string folder = folder_in_environment(proc);
  if (folder.empty()) folder = locked_model_dir(proc);
  if (folder.empty()) folder = "profile";
  std::error_code failed;
  const fs::path working = fs::read_symlink(proc / "cwd", failed);
  return (working / folder).string();
}

// The runs that are complete: systole.json is written last.
std::set<std::string> complete_runs(const std::string& logdir) {
  std::set<std::string> runs;
  std::error_code failed;
  for (const auto& run : fs::directory_iterator(fs::path(logdir) / "plugins/profile", failed)) {
    for (const auto& file : fs::directory_iterator(run.path(), failed)) {
      if (file.path().string().ends_with(".systole.json")) runs.insert(run.path().string());
    }
  }
  return runs;
}

}  // namespace

std::string profile_of_process(int64_t pid, const std::string& given, double seconds) {
  const fs::path proc = fmt::format("/proc/{}", pid);
  if (!fs::exists(proc)) throw not_found("profile: process {}, got none of this number", pid);
  if (!takes_captures(proc)) {
    throw failed_precondition(
        "profile: process {}, got one that does not handle SIGUSR2, expected a training of Systole "
        "that has begun",
        pid);
  }
  const std::string logdir = given.empty() ? logdir_of(proc) : given;
  const std::set<std::string> before = complete_runs(logdir);
  if (::kill(static_cast<pid_t>(pid), SIGUSR2) != 0)
    throw failed_precondition("profile: process {}: {}", pid, std::strerror(errno));
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    for (const std::string& run : complete_runs(logdir)) {
      if (!before.contains(run)) return run;
    }
    if (!fs::exists(proc)) break;
  }
  throw make_error(Code::deadline_exceeded,
                   "profile: process {}, got no new profile in {}/plugins/profile within {} s; "
                   "--logdir names the folder if the process writes elsewhere",
                   pid, logdir, seconds);
}

}  // namespace systole::app
