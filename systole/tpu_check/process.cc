#include "systole/tpu_check/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "systole/base/error.h"
#include "systole/base/open_file.h"
#include "systole/io/local/local_file_system.h"
#include "systole/tpu_check/host.h"

// Two processes. The calling process forks a keeper, which forks the compiler: the keeper has one
// thread, waits for the compiler, ends it when its time is over, when a signal comes or when the
// calling process is no more, and removes its files in each case. Neither calls exec, so that a
// library can do this in any program.
namespace systole::tpu_check {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr size_t kMaxLogBytes = 4000;
constexpr uint64_t kMaxDumpBytes = uint64_t{512} << 20;
constexpr int kPollMilliseconds = 50;

// The files of the compiler's dump that are read.
constexpr std::array<std::string_view, 4> kDumps = {".after_codegen.txt",
                                                    ".after_optimizations.txt", "-live-range.txt",
                                                    "-memory-usage-report.txt"};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// "" for a file that is not there.
std::string read_all_of(const fs::path& file) {
  try {
    return read_file(local_file_system(), file.string());
  } catch (const Error&) {
    return "";
  }
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

// -- In the compiler's process.

// Errors and notes of the compiler go to a file; nothing of the calling process stays open.
void leave_the_caller(const std::string& folder) {
  const std::string log = folder + "/log";
  const FileDescriptor out = open_file(log, {.flags = O_CREAT | O_WRONLY | O_APPEND, .mode = 0600});
  ::dup2(out.get(), 1);
  ::dup2(out.get(), 2);
  ::close_range(3, ~0U, 0);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGABRT, SIGSEGV, SIGPIPE, SIGCHLD})
    ::signal(signal, SIG_DFL);
}

[[noreturn]] void be_compiler(const CompilerJob& job, const std::string& folder) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  leave_the_caller(folder);
  try {
    compile_in_this_process(job, folder);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    ::_exit(1);
  }
  // No destructors: they belong to the calling process.
  ::_exit(0);
}

// -- In the keeper.

struct Ended {
  CompilerEnd end = CompilerEnd::crashed;
  int status = 0;
};

Ended wait_for(pid_t compiler, double max_seconds, const sigset_t& signals) {
  const auto start = Clock::now();
  const timespec tick = {.tv_sec = 0, .tv_nsec = kPollMilliseconds * 1000000L};
  Ended ended;
  const auto kill_it = [&](CompilerEnd why) {
    ::kill(compiler, SIGKILL);
    while (::waitpid(compiler, &ended.status, 0) < 0 && errno == EINTR) {
    }
    ended.end = why;
  };
  while (true) {
    if (::waitpid(compiler, &ended.status, WNOHANG) == compiler) {
      if (WIFEXITED(ended.status) && WEXITSTATUS(ended.status) == 0)
        ended.end = CompilerEnd::answered;
      return ended;
    }
    if (seconds_since(start) > max_seconds) {
      kill_it(CompilerEnd::out_of_time);
      return ended;
    }
    const int signal = ::sigtimedwait(&signals, nullptr, &tick);
    if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP) {
      kill_it(CompilerEnd::interrupted);
      return ended;
    }
  }
}

std::string how_text(int status) {
  if (WIFSIGNALED(status)) {
    const char* const name = ::sigabbrev_np(WTERMSIG(status));
    return fmt::format("was ended by SIG{}",
                       name == nullptr ? std::to_string(WTERMSIG(status)) : name);
  }
  return fmt::format("ended with status {}", WEXITSTATUS(status));
}

// The dump of the program itself, among those of parts that the compiler compiles on its own: the
// largest.
void add_dumps(const fs::path& folder, std::map<std::string, std::string>& values) {
  std::error_code failed;
  std::map<std::string_view, std::pair<uint64_t, fs::path>> largest;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    const std::string name = entry.path().filename().string();
    for (const std::string_view ending : kDumps) {
      if (!name.ends_with(ending)) continue;
      const uint64_t size = entry.file_size(failed);
      auto& found = largest[ending];
      if (size >= found.first && size <= kMaxDumpBytes) found = {size, entry.path()};
    }
  }
  for (const auto& [ending, found] : largest)
    values["file" + std::string(ending)] = read_all_of(found.second);
}

std::map<std::string, std::string> collect(const std::string& folder, const Ended& ended) {
  std::map<std::string, std::string> values;
  if (ended.end == CompilerEnd::answered) {
    values = decode_values(read_all_of(folder + "/values"));
    add_dumps(folder + "/dump", values);
  }
  // No room for the answer, for example.
  const bool lost = ended.end == CompilerEnd::answered && !values.contains("stage");
  const CompilerEnd end = lost ? CompilerEnd::crashed : ended.end;
  values["end"] = std::to_string(static_cast<int>(end));
  values["how"] = how_text(ended.status);
  values["last stage"] = read_all_of(folder + "/stage");
  std::string log = read_all_of(folder + "/log");
  if (log.size() > kMaxLogBytes) log.erase(0, log.size() - kMaxLogBytes);
  values["log"] = std::move(log);
  return values;
}

std::map<std::string, std::string> keep(const CompilerJob& job, double max_seconds,
                                        const sigset_t& signals) {
  std::error_code failed;
  std::string folder = (fs::temp_directory_path(failed) / "systole_tpu_XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr)
    return {{"trouble", folder + ": " + std::strerror(errno)}};
  const pid_t compiler = ::fork();
  std::map<std::string, std::string> values;
  if (compiler == 0) be_compiler(job, folder);
  if (compiler < 0) {
    values["trouble"] = std::string("fork: ") + std::strerror(errno);
  } else {
    values = collect(folder, wait_for(compiler, max_seconds, signals));
  }
  fs::remove_all(folder, failed);
  return values;
}

// Closes what the calling process has open, but for `out`, whose new number is returned.
int close_all_but(int out) {
  {
    const FileDescriptor nothing = open_file("/dev/null", {.flags = O_RDWR});
    for (const int standard : {0, 1, 2}) ::dup2(nothing.get(), standard);
  }
  ::dup2(out, 3);
  ::close_range(4, ~0U, 0);
  return 3;
}

[[noreturn]] void be_keeper(const CompilerJob& job, double max_seconds, int out, pid_t caller) {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&signals, signal);
  ::sigprocmask(SIG_SETMASK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGCHLD, SIG_DFL);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  // One that ended before the line above sends no signal.
  if (::getppid() != caller) ::_exit(1);
  try {
    out = close_all_but(out);
    write_all(out, encode_values(keep(job, max_seconds, signals)));
  } catch (const std::exception& error) {
    write_all(out, encode_values({{"trouble", error.what()}}));
  }
  ::_exit(0);
}

// -- In the calling process.

// Reads up to the end of the stream.
std::string answer_of_keeper(int in, const std::function<void(double)>& progress) {
  const auto start = Clock::now();
  std::string bytes;
  std::array<char, 65536> block{};
  while (true) {
    pollfd file = {.fd = in, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&file, 1, 1000);
    if (ready < 0 && errno != EINTR) return bytes;
    if (ready <= 0) {
      if (progress) progress(seconds_since(start));
      continue;
    }
    const ssize_t n = ::read(in, block.data(), block.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return bytes;
    bytes.append(block.data(), static_cast<size_t>(n));
  }
}

// The calling process's ends of a process that it forked.
struct Child {
  pid_t process = -1;
  int in = -1;

  ~Child() {
    // Where `progress` threw, the keeper runs still.
    if (process > 0 && ::waitpid(process, nullptr, WNOHANG) == 0) {
      ::kill(process, SIGTERM);
      ::waitpid(process, nullptr, 0);
    }
    if (in >= 0) ::close(in);
  }
};

std::string take(std::map<std::string, std::string>& values, const std::string& name) {
  std::string value = std::move(values[name]);
  values.erase(name);
  return value;
}

CompilerOutcome outcome_of(std::map<std::string, std::string> values) {
  if (values.contains("trouble")) {
    throw make_error(Code::resource_exhausted, "libtpu: a process of its own, got '{}'",
                     values["trouble"]);
  }
  CompilerOutcome outcome;
  // A keeper that was killed tells nothing.
  if (!values.contains("end")) {
    outcome.end = CompilerEnd::interrupted;
    return outcome;
  }
  outcome.end = static_cast<CompilerEnd>(take(values, "end")[0] - '0');
  outcome.how = take(values, "how");
  outcome.stage = take(values, "last stage");
  outcome.log = take(values, "log");
  constexpr std::string_view kFile = "file";
  for (auto it = values.begin(); it != values.end();) {
    if (!it->first.starts_with(kFile)) {
      ++it;
      continue;
    }
    // ".after_codegen.txt" and "-live-range.txt".
    outcome.files[it->first.substr(kFile.size() + 1)] = std::move(it->second);
    it = values.erase(it);
  }
  outcome.values = std::move(values);
  return outcome;
}

}  // namespace

CompilerOutcome run_compiler(const CompilerJob& job, double max_seconds,
                             const std::function<void(double)>& progress) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    throw make_error(Code::resource_exhausted, "libtpu: pipe, got '{}'", std::strerror(errno));
  // The children must not write buffered output again, nor wait for a lock that a thread of this
  // process holds while it makes the file system.
  local_file_system();
  std::fflush(nullptr);
  const pid_t caller = ::getpid();
  Child child{.in = ends[0]};
  child.process = ::fork();
  if (child.process == 0) {
    ::close(ends[0]);
    be_keeper(job, max_seconds, ends[1], caller);
  }
  ::close(ends[1]);
  if (child.process < 0)
    throw make_error(Code::resource_exhausted, "libtpu: fork, got '{}'", std::strerror(errno));
  std::string bytes = answer_of_keeper(child.in, progress);
  ::waitpid(child.process, nullptr, 0);
  child.process = -1;
  return outcome_of(decode_values(bytes));
}

}  // namespace systole::tpu_check
