#include "apps/board/board_command.h"

#include <absl/cleanup/cleanup.h>
#include <fmt/format.h>
#include <malloc.h>
#include <pthread.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <thread>

#include "apps/board/board.h"
#include "apps/board/logdir.h"
#include "apps/board/server.h"
#include "systole/base/environment.h"
#include "systole/base/mutex.h"
#include "systole/io/file_systems/file_systems.h"

namespace systole::board {
namespace {

struct Flags {
  std::string logdir;
  std::string host = "127.0.0.1";
  int64_t port = 6006;
  double reload_seconds = 1;
  uint64_t memory = uint64_t{1} << 30U;
  std::string token;
};

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

std::string random_token() {
  std::random_device device;
  std::string token;
  for (int i = 0; i < 4; ++i) token += fmt::format("{:08x}", device());
  return token;
}

// The name to show in the address: one that a browser can open.
std::string shown_host(const std::string& host) {
  if (host == "0.0.0.0" || host == "::") return host_name();
  return host.find(':') != std::string::npos ? "[" + host + "]" : host;
}

// Stops the server on SIGINT or SIGTERM. Must be constructed before any other thread starts: the
// constructor blocks SIGINT, SIGTERM and SIGUSR1 in the calling thread, and new threads inherit its
// mask. A thread of this object waits for the signals; the destructor wakes it with SIGUSR1 and
// joins it. If the server does not stop in time, because a network disk does not answer, the
// process exits; the board writes no files, so no data is lost.
class SignalStopper {
 public:
  SignalStopper() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    sigaddset(&signals_, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    thread_ = std::thread([this] { wait(); });
  }
  ~SignalStopper() {
    {
      const MutexLock hold(mutex_);
      is_over_ = true;
    }
    ended_.notify_all();
    pthread_kill(thread_.native_handle(), SIGUSR1);
    thread_.join();
  }
  SignalStopper(const SignalStopper&) = delete;
  SignalStopper& operator=(const SignalStopper&) = delete;

  // Serves until a signal comes, also one that came before.
  void serve(Server& server) {
    {
      const MutexLock hold(mutex_);
      server_ = &server;
      if (is_signalled_) server.stop();
    }
    const absl::Cleanup forget = [this] {
      const MutexLock hold(mutex_);
      server_ = nullptr;
    };
    server.serve();
  }

 private:
  void wait() {
    int received = 0;
    sigwait(&signals_, &received);
    MutexLock hold(mutex_);
    is_signalled_ = true;
    if (server_ != nullptr) server_->stop();
    if (!ended_.wait_for(hold, kGrace, [this]() SYSTOLE_REQUIRES(mutex_) { return is_over_; }))
      std::_Exit(0);
  }

  static constexpr std::chrono::milliseconds kGrace{1500};
  sigset_t signals_{};
  Mutex mutex_;
  // Guarded by the mutex:
  Server* server_ SYSTOLE_GUARDED_BY(mutex_) = nullptr;
  bool is_signalled_ SYSTOLE_GUARDED_BY(mutex_) = false;
  bool is_over_ SYSTOLE_GUARDED_BY(mutex_) = false;
  CondVar ended_;
  std::thread thread_;
};

// Makes the allocator give memory back, so that the process takes what --memory says.
void keep_memory_small() {
  ::mallopt(M_ARENA_MAX, 2);
  ::mallopt(M_MMAP_THRESHOLD, 1 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 4 << 20);
}

void serve(const Flags& flags) {
  keep_memory_small();
  FileSystem& file_system = file_system_for(flags.logdir);
  if (!file_system.exists(flags.logdir)) {
    throw not_found("{}: log directory, got nothing there, expected a directory with event files",
                    flags.logdir);
  }
  if (!file_system.stat(flags.logdir).is_directory) {
    throw failed_precondition("{}: log directory, got a file, expected a directory", flags.logdir);
  }
  SignalStopper stopper;  // until all threads have ended
  Logdir logdir(file_system, flags.logdir,
                {.max_memory_bytes = flags.memory, .reload_seconds = flags.reload_seconds});
  BoardOptions options;
  options.hosts.push_back(shown_host(flags.host));
  options.token = flags.token;
  if (options.token.empty() && !is_loopback(flags.host)) options.token = random_token();
  const Board board(logdir, options);
  Server server(board);
  const int port = server.bind(flags.host, static_cast<int>(flags.port));
  logdir.start();
  fmt::print("Systole board of {} at http://{}:{}/{}\n", flags.logdir, shown_host(flags.host), port,
             options.token.empty() ? "" : "?token=" + options.token);
  fmt::print("Press Ctrl-C to stop.\n");
  std::fflush(stdout);
  stopper.serve(server);
}

}  // namespace

void add_board_command(CommandLine& line) {
  auto flags = std::make_shared<Flags>();
  line.option("logdir", flags->logdir, "A directory of runs: every directory with event files")
      .required();
  line.option("--port", flags->port, "Port; 0 chooses a free one").show_default().between(0, 65535);
  line.option("--host", flags->host,
              "Address to listen at. Others than this machine's loopback need the token that is "
              "printed")
      .show_default();
  line.option("--token", flags->token, "The token that requests need");
  line.option("--reload-seconds", flags->reload_seconds, "Time between looks for new events")
      .show_default()
      .not_negative();
  line.option("--memory", flags->memory,
              "Bytes of memory for what is kept of the runs; beyond them the longest series keep "
              "their extremes only, and the page says what is left out")
      .show_default()
      .as_bytes();
  line.on_run([flags] { serve(*flags); });
}

}  // namespace systole::board
