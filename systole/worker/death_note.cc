#include "systole/worker/death_note.h"

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

std::atomic<int> note_file{-1};
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
extern "C" void write_note(int signal) {
  const char* const text = name_of_fatal(signal);
  if (const int file = note_file.load(); file >= 0) {
    if (::write(file, text, std::strlen(text)) < 0) note_file = -1;
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void install_fatal_handlers() {
  struct sigaction action = {};
  action.sa_handler = write_note;
  action.sa_flags = SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < kFatalSignals.size(); ++i) {
    sigaction(kFatalSignals[i], &action, &previous_fatal_actions[i]);
  }
}

// Others may have put a file there for this process to empty.
bool is_own_file(int file) {
  struct stat status {};
  return ::fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid() &&
         status.st_nlink == 1;
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
std::string note_of(const std::string& text) {
  const auto line = text.find('\n');
  if (line == std::string::npos) return "";
  std::string how = text.substr(line + 1);
  if (how.ends_with('\n')) how.pop_back();
  if (how.empty()) how = "ended without a note: SIGKILL, or its machine stopped";
  return text.substr(0, line) + " " + how;
}

}  // namespace

void DeathNote::add(std::string_view how) const {
  if (file_ < 0) return;
  const std::string line = std::string(how) + "\n";
  if (::write(file_, line.data(), line.size()) < 0) return;
}

DeathNote::DeathNote(const std::string& folder) {
  if (folder.empty()) return;
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  path_ = folder + "/worker";
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  if (file_ < 0) {
    throw make_error(Code::unavailable, "worker: state folder, got '{}': {}", folder,
                     std::strerror(errno));  // NOLINT(concurrency-mt-unsafe)
  }
  if (!is_own_file(file_)) {
    ::close(file_);
    throw failed_precondition("worker: state file, got '{}', expected a regular file of this user",
                              path_);
  }
  if (::flock(file_, LOCK_EX | LOCK_NB) != 0) {
    ::close(file_);
    throw failed_precondition("worker: state folder, got '{}', which another worker uses", folder);
  }
  of_last_ = note_of(read_all(file_));
  const std::string begin = begin_text();
  if (::ftruncate(file_, 0) != 0 ||
      ::pwrite(file_, begin.data(), begin.size(), 0) != static_cast<ssize_t>(begin.size())) {
    ::close(file_);
    throw make_error(Code::unavailable, "worker: state folder, got '{}', which cannot be written",
                     folder);
  }
  ::lseek(file_, 0, SEEK_END);
  note_file = file_;
  install_fatal_handlers();
}

DeathNote::~DeathNote() {
  if (file_ < 0) return;
  note_file = -1;
  for (size_t i = 0; i < kFatalSignals.size(); ++i) {
    sigaction(kFatalSignals[i], &previous_fatal_actions[i], nullptr);
  }
  // The file stays, for the lock of a worker that has just opened it.
  if (::ftruncate(file_, 0) != 0) ::unlink(path_.c_str());
  ::close(file_);
}

}  // namespace systole::worker
