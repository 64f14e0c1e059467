#include "apps/systole/hlo/isolated.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <vector>

#include "systole/base/error.h"

namespace systole::app {
namespace {

using Clock = std::chrono::steady_clock;

// Returns false at the end of the stream or on an error.
bool read_all(int fd, void* data, size_t size) {
  auto* at = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t n = read(fd, at, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

bool write_all(int fd, const void* data, size_t size) {
  const auto* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t n = send(fd, at, size, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

bool write_message(int fd, const std::string& text) {
  const size_t size = text.size();
  return write_all(fd, &size, sizeof(size)) && write_all(fd, text.data(), size);
}

std::optional<std::string> read_message(int fd) {
  size_t size = 0;
  if (!read_all(fd, &size, sizeof(size))) return std::nullopt;
  std::string text(size, '\0');
  if (!read_all(fd, text.data(), size)) return std::nullopt;
  return text;
}

// A copy of this process that executes tasks one at a time.
class Worker {
 public:
  explicit Worker(const std::function<std::string(size_t)>& task) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail("socketpair");
    // The copy must not write buffered output again.
    std::fflush(nullptr);
    process_ = fork();
    if (process_ < 0) {
      close(ends[0]);
      close(ends[1]);
      fail("fork");
    }
    if (process_ == 0) {
      close(ends[0]);
      serve(ends[1], task);
    }
    close(ends[1]);
    fd_ = ends[0];
  }
  ~Worker() { end(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  int fd() const { return fd_; }
  bool busy() const { return busy_; }
  size_t task() const { return task_; }
  Clock::time_point started() const { return started_; }

  void start(size_t task) {
    task_ = task;
    busy_ = true;
    started_ = Clock::now();
    // A dead worker is detected when its answer is read.
    write_all(fd_, &task, sizeof(task));
  }

  IsolatedResult finish() {
    busy_ = false;
    if (std::optional<std::string> text = read_message(fd_)) return {std::move(*text), ""};
    return {"", wait_for_death()};
  }

  // Ends the process, whatever it does. "signal 9 (Killed)".
  std::string kill_now() {
    busy_ = false;
    kill(process_, SIGKILL);
    return wait_for_death();
  }

 private:
  [[noreturn]] static void fail(const char* what) {
    throw make_error(Code::resource_exhausted, "process: {}, got '{}'", what, std::strerror(errno));
  }

  [[noreturn]] static void serve(int fd, const std::function<std::string(size_t)>& task) {
    size_t number = 0;
    while (read_all(fd, &number, sizeof(number))) {
      if (!write_message(fd, task(number))) break;
    }
    // No destructors: the objects belong to the parent process.
    _exit(0);
  }

  std::string wait_for_death() {
    int status = 0;
    while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    process_ = -1;
    if (WIFSIGNALED(status)) {
      return "signal " + std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) +
             ")";
    }
    return "exit status " + std::to_string(WEXITSTATUS(status));
  }

  void end() {
    close(fd_);
    if (process_ > 0) kill_now();
  }

  pid_t process_ = -1;
  int fd_ = -1;
  bool busy_ = false;
  size_t task_ = 0;
  Clock::time_point started_;
};

// Distributes tasks to workers and passes results, in order, to the caller.
class Run {
 public:
  Run(size_t count, const IsolationOptions& options, const std::function<std::string(size_t)>& task,
      const std::function<void(size_t, const IsolatedResult&)>& done)
      : options_(options), task_(task), done_(done), results_(count) {}

  void run() {
    const size_t wanted = std::max(1, options_.processes);
    while (workers_.size() < std::min(wanted, results_.size()))
      workers_.push_back(std::make_unique<Worker>(task_));
    while (reported_ < results_.size()) {
      for (auto& worker : workers_) {
        if (!worker->busy() && next_ < results_.size()) worker->start(next_++);
      }
      wait();
      while (reported_ < results_.size() && results_[reported_]) {
        done_(reported_, *results_[reported_]);
        ++reported_;
      }
    }
  }

 private:
  double seconds_left(const Worker& worker) const {
    const std::chrono::duration<double> used = Clock::now() - worker.started();
    return options_.time_limit - used.count();
  }

  // Waits until a worker has answered, has died, or is out of time.
  void wait() {
    std::vector<pollfd> files;
    double least = options_.time_limit;
    for (const auto& worker : workers_) {
      files.push_back({.fd = worker->busy() ? worker->fd() : -1, .events = POLLIN, .revents = 0});
      if (worker->busy()) least = std::min(least, seconds_left(*worker));
    }
    const double milliseconds = std::clamp(least * 1000 + 1, 0.0, 1e8);
    poll(files.data(), files.size(), static_cast<int>(milliseconds));
    for (size_t i = 0; i < workers_.size(); ++i) {
      if (!workers_[i]->busy()) continue;
      if (files[i].revents != 0) {
        settle(workers_[i], workers_[i]->finish());
      } else if (seconds_left(*workers_[i]) <= 0) {
        workers_[i]->kill_now();
        settle(workers_[i], {"", fmt::format("no end after {} s", options_.time_limit)});
      }
    }
  }

  void settle(std::unique_ptr<Worker>& worker, IsolatedResult result) {
    const bool dead = !result.death.empty();
    results_[worker->task()] = std::move(result);
    if (dead) worker = std::make_unique<Worker>(task_);
  }

  const IsolationOptions& options_;
  const std::function<std::string(size_t)>& task_;
  const std::function<void(size_t, const IsolatedResult&)>& done_;
  std::vector<std::optional<IsolatedResult>> results_;
  std::vector<std::unique_ptr<Worker>> workers_;
  size_t next_ = 0;
  size_t reported_ = 0;
};

}  // namespace

void run_isolated(size_t count, const IsolationOptions& options,
                  const std::function<std::string(size_t)>& task,
                  const std::function<void(size_t, const IsolatedResult&)>& done) {
  Run(count, options, task, done).run();
}

}  // namespace systole::app
