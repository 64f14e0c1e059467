#include "systole/worker/crash_marker.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "systole/base/error.h"

namespace systole::worker {
namespace {

constexpr std::array<int, 5> kFatalSignals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

std::atomic<int> marker_file{-1};
std::array<struct sigaction, kFatalSignals.size()> previous_fatal_actions;

const char* name_of_fatal(int signal) {
  switch (signal) {
    case SIGSEGV:
      return "was ended by SIGSEGV\n";
    case SIGBUS:
      return "was ended by SIGBUS\n";
    case SIGFPE:
      return "was ended by SIGFPE\n";
    case SIGILL:
      return "was ended by SIGILL\n";
    default:
      return "was ended by SIGABRT\n";
  }
}

// Async-signal-safe.
extern "C" void write_marker(int signal) {
  const char* const text = name_of_fatal(signal);
  if (const int file = marker_file.load(); file >= 0) {
    if (::write(file, text, std::strlen(text)) < 0) marker_file = -1;
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void install_fatal_handlers() {
  struct sigaction action = {};
  action.sa_handler = write_marker;
  action.sa_flags = SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < kFatalSignals.size(); ++i) {
    sigaction(kFatalSignals[i], &action, &previous_fatal_actions[i]);
  }
}

std::string read_all(int file) {
  std::string text(1024, '\0');
  const ssize_t size = ::pread(file, text.data(), text.size(), 0);
  text.resize(size > 0 ? static_cast<size_t>(size) : 0);
  return text;
}

std::string begin_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> time{};
  std::strftime(time.data(), time.size(), "%Y-%m-%d %H:%M:%S", &parts);
  return fmt::format("the worker of {} UTC, process {},\n", time.data(), getpid());
}

// "the worker of ..., process 17,\nwas ended by SIGSEGV\n" as one sentence.
std::string exit_of(const std::string& text) {
  const auto line = text.find('\n');
  if (line == std::string::npos) return "";
  std::string how = text.substr(line + 1);
  if (how.ends_with('\n')) how.pop_back();
  if (how.empty()) how = "ended without a note: SIGKILL, or its machine stopped";
  return text.substr(0, line) + " " + how;
}

}  // namespace

void CrashMarker::add(std::string_view how) const {
  if (file_.get() < 0) return;
  const std::string line = std::string(how) + "\n";
  if (::write(file_.get(), line.data(), line.size()) < 0) return;
}

CrashMarker::CrashMarker(const std::string& folder) {
  if (folder.empty()) return;
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  path_ = folder + "/worker";
  file_ = open_file(path_, {.flags = O_RDWR | O_CREAT,
                            .mode = 0600,
                            .follow_link = false,
                            .other_names = false,
                            .own = true,
                            .what = "worker: state file, cannot open"});
  if (::flock(file_.get(), LOCK_EX | LOCK_NB) != 0) {
    throw failed_precondition("worker: state folder, got '{}', which another worker uses", folder);
  }
  last_exit_ = exit_of(read_all(file_.get()));
  const std::string begin = begin_text();
  if (::ftruncate(file_.get(), 0) != 0 ||
      ::pwrite(file_.get(), begin.data(), begin.size(), 0) != static_cast<ssize_t>(begin.size())) {
    throw make_error(Code::unavailable, "worker: state folder, got '{}', which cannot be written",
                     folder);
  }
  ::lseek(file_.get(), 0, SEEK_END);
  marker_file = file_.get();
  install_fatal_handlers();
}

CrashMarker::~CrashMarker() {
  if (file_.get() < 0) return;
  marker_file = -1;
  for (size_t i = 0; i < kFatalSignals.size(); ++i) {
    sigaction(kFatalSignals[i], &previous_fatal_actions[i], nullptr);
  }
  // The file stays, for the lock of a worker that has just opened it.
  if (::ftruncate(file_.get(), 0) != 0) ::unlink(path_.c_str());
}

}  // namespace systole::worker
