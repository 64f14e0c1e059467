#include "tests/end_to_end/worker_process.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <utility>

namespace systole::testing {

WorkerProcess::WorkerProcess(const std::string& device, const std::string& listen) {
  const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const std::string program = (folder / "systole").string();
  int ends[2];
  if (::pipe(ends) != 0) std::abort();
  process_ = ::fork();
  if (process_ == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::execl(program.c_str(), "systole", "worker", "--listen", listen.c_str(), "--device",
            device.c_str(), "--state", "", "--grace-seconds", "3",
            static_cast<const char*>(nullptr));
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
