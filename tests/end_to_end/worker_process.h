// `systole worker` in another process.
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <string>
#include <vector>

namespace systole::testing {

// Serves from construction, and is killed at its end.
class WorkerProcess {
 public:
  // Errors: std::runtime_error with the process's status if it does not serve.
  explicit WorkerProcess(const std::string& device, const std::string& listen = "127.0.0.1:0",
                         const std::vector<std::string>& options = {});
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  const std::string& address() const { return address_; }
  std::string target() const { return "grpc://" + address_; }
  void signal(int number) const;
  // Waits until it has ended. Returns its exit status, -1 after a signal.
  int wait();
  int end(int number) {
    signal(number);
    return wait();
  }

 private:
  pid_t process_ = -1;
  std::FILE* output_ = nullptr;
  std::string address_;
};

}  // namespace systole::testing
