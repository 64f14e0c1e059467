#include "apps/board/board_command.h"

#include <fmt/format.h>
#include <pthread.h>

#include <csignal>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <thread>

#include "apps/board/board.h"
#include "apps/board/logdir.h"
#include "apps/board/server.h"
#include "systole/base/environment.h"
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

// Stops the server at SIGINT and SIGTERM. The signals are blocked in all threads but its own.
class SignalStopper {
 public:
  explicit SignalStopper(Server& server) {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    sigaddset(&signals_, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    thread_ = std::thread([this, &server] {
      int received = 0;
      sigwait(&signals_, &received);
      server.stop();
    });
  }
  ~SignalStopper() {
    pthread_kill(thread_.native_handle(), SIGUSR1);
    thread_.join();
  }
  SignalStopper(const SignalStopper&) = delete;
  SignalStopper& operator=(const SignalStopper&) = delete;

 private:
  sigset_t signals_{};
  std::thread thread_;
};

void serve(const Flags& flags) {
  FileSystem& file_system = file_system_for(flags.logdir);
  if (!file_system.exists(flags.logdir)) {
    throw not_found("{}: log directory, got nothing there, expected a directory with event files",
                    flags.logdir);
  }
  if (!file_system.stat(flags.logdir).is_directory) {
    throw failed_precondition("{}: log directory, got a file, expected a directory", flags.logdir);
  }
  Logdir logdir(file_system, flags.logdir,
                {.max_memory_bytes = flags.memory, .reload_seconds = flags.reload_seconds});
  BoardOptions options;
  options.hosts.push_back(shown_host(flags.host));
  options.token = flags.token;
  if (options.token.empty() && !is_loopback(flags.host)) options.token = random_token();
  const Board board(logdir, options);
  Server server(board);
  const int port = server.bind(flags.host, static_cast<int>(flags.port));
  const SignalStopper stopper(server);
  logdir.start();
  fmt::print("Systole board of {} at http://{}:{}/{}\n", flags.logdir, shown_host(flags.host), port,
             options.token.empty() ? "" : "?token=" + options.token);
  fmt::print("Press Ctrl-C to stop.\n");
  std::fflush(stdout);
  server.serve();
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
              "Bytes of memory for points; beyond them the longest series keep their extremes only")
      .show_default()
      .as_bytes();
  line.on_run([flags] { serve(*flags); });
}

}  // namespace systole::board
