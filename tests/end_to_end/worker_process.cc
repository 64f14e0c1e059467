#include "tests/end_to_end/worker_process.h"

#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace systole::testing {

WorkerProcess::WorkerProcess(const std::string& device, const std::string& listen,
                             const std::vector<std::string>& options) {
  const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const std::string program = (folder / "systole").string();
  std::vector<const char*> arguments = {
      "systole",      "worker",  "--listen", listen.c_str(),    "--device",
      device.c_str(), "--state", "",         "--grace-seconds", "3"};
  for (const std::string& option : options) arguments.push_back(option.c_str());
  arguments.push_back(nullptr);
  int ends[2];
  if (::pipe(ends) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  process_ = ::fork();
  if (process_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (process_ == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::execv(program.c_str(), const_cast<char* const*>(arguments.data()));
    std::perror(program.c_str());
    ::_exit(127);
  }
  ::close(ends[1]);
  output_ = ::fdopen(ends[0], "r");
  char line[256] = "";
  while (std::fgets(line, sizeof line, output_) != nullptr) {
    const std::string text = line;
    const auto at = text.find(" at ");
    if (!text.starts_with("serving") || at == std::string::npos) continue;
    address_ = text.substr(at + 4, text.size() - at - 5);
    return;
  }
  int status = 0;
  ::waitpid(process_, &status, 0);
  std::fclose(output_);
  throw std::runtime_error(
      fmt::format("{} worker: got wait status {:#x} and no line 'serving'", program, status));
}

WorkerProcess::~WorkerProcess() {
  if (process_ > 0) end(SIGKILL);
  std::fclose(output_);
}

void WorkerProcess::signal(int number) const { ::kill(process_, number); }

int WorkerProcess::wait() {
  int status = 0;
  ::waitpid(std::exchange(process_, -1), &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace systole::testing
